package main

import (
	"context"
	"runtime"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/cmd/usage"
	"annals/commands/quota"
	"annals/http/signin/accounts"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// bindGlobal binds the flags that all commands have.
func bindGlobal(flags *pflag.FlagSet, at *engine.URLs) {
	flags.StringVar(&at.Data, "data", engine.DefaultData, "folder of the embedded log, read models, search index, originals and accounts")
	flags.String("config", "", "YAML file with settings by flag name")
	flags.StringVar(&at.Accounts, engine.AccountsFlag, "", "URL of the accounts of the built-in sign-in, sqlite:///path, or postgres://user:password@host/database for several nodes (default: in the data folder)")
}

// bindLog binds the flag with the URL of the log.
func bindLog(flags *pflag.FlagSet, at *engine.URLs) {
	flags.StringVar(&at.Log, engine.LogFlag, "", engine.LogHelp)
}

// bindModels binds the flags of commands that read or make read models.
func bindModels(flags *pflag.FlagSet, at *engine.URLs) {
	bindLog(flags, at)
	flags.StringVar(&at.ReadModels, "read-models", "", "URL of the read models, as given to serve (default: in the data folder)")
	flags.StringVar(&at.Search, "search", "", "URL of the search index, as given to serve (default: in the data folder)")
}

// limitHelp is the help of the flags with the limits of one user.
var limitHelp = map[quota.Kind]string{
	quota.Bytes:     "maximum bytes that one user may store, such as 50GiB: uploads and the text stored for them, with all versions and running imports",
	quota.Documents: "maximum documents that one user may store, including files being imported",
	quota.Folders:   "maximum folders of one user",
	quota.Shares:    "maximum entries in permission lists that one user has added",
	quota.Imports:   "maximum files of one user that are imported at the same time",
	quota.Search:    "maximum time per minute that searches, questions and listings of one user may take",
	quota.Changed:   "maximum bytes per hour that changes by one user (names, tags, permission lists, moves, deletions, new content, refused and failed files) may add to the log",
}

// folderLimitHelp is the help of the flags with the limits of a top-level folder.
var folderLimitHelp = map[quota.Kind]string{
	quota.Bytes:     "maximum bytes in one top-level folder and all folders below it: uploads and the text stored for them",
	quota.Documents: "maximum documents in one top-level folder and all folders below it",
}

// bindLimits binds the flags of the general limits and of concurrent searches.
func bindLimits(flags *pflag.FlagSet, s *usage.Settings, searches *int) {
	s.User, s.Folder = quota.Default, quota.DefaultFolder
	for kind, help := range limitHelp {
		flags.Var(settings.Limit(kind, &s.User[kind]), "quota-"+kind.String(), help+"; 0 for no limit")
	}
	for kind, help := range folderLimitHelp {
		flags.Var(settings.Limit(kind, &s.Folder[kind]), "quota-folder-"+kind.String(), help+"; 0 for no limit")
	}
	flags.StringArrayVar(&s.Others, "quota-for", nil, "limits of a user of another issuer: user:ALIAS/NAME=bytes=50GiB,search=2m; may be repeated")
	flags.IntVar(searches, "quota-searches", max(1, runtime.NumCPU()/2), "maximum concurrent searches, questions and listings per user; more are queued")
}

// accountsOf returns the accounts that a command works on.
func accountsOf(cmd *cobra.Command, at *engine.URLs) admin.Accounts {
	return admin.Accounts{URLs: *at, Listen: defaultListen, Warn: cmd.ErrOrStderr()}
}

// accountsCommand is a function of a command that works on accounts.
type accountsCommand func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error

// onAccounts returns what cobra calls to run such a function.
func onAccounts(at *engine.URLs, run accountsCommand) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) error {
			return run(ctx, store, cmd, args)
		})
	}
}
