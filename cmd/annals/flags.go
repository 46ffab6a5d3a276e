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
	flags.StringVar(&at.Data, "data", engine.DefaultData, "data folder: log, read models, search index, uploaded files and accounts, unless other flags say where they are")
	flags.String("config", "", "YAML file with settings; the keys are the names of flags (default: none)")
	flags.StringVar(&at.Accounts, engine.AccountsFlag, "", "URL of the accounts of the built-in sign-in: sqlite:///path, or postgres://user:password@host/database, which several nodes can share (default: in the data folder)")
}

// bindLog binds the flag with the URL of the log.
func bindLog(flags *pflag.FlagSet, at *engine.URLs) {
	flags.StringVar(&at.Log, engine.LogFlag, "", engine.LogHelp)
}

// bindModels binds the flags of commands that use read models.
func bindModels(flags *pflag.FlagSet, at *engine.URLs) {
	bindLog(flags, at)
	flags.StringVar(&at.ReadModels, "read-models", "", "URL of the read models, the same as for serve (default: in the data folder)")
	flags.StringVar(&at.Search, "search", "", "URL of the search index, the same as for serve (default: in the data folder)")
	at.BindEmbeddings(flags)
}

// limitHelp has the help of the flags that limit one user.
var limitHelp = map[quota.Kind]string{
	quota.Bytes:     "maximum bytes that one user may store, such as 50GiB; counts uploads and their text, in all versions and in running imports",
	quota.Documents: "maximum number of documents that one user may store, including files that are being imported",
	quota.Folders:   "maximum number of folders that one user may create",
	quota.Shares:    "maximum number of grants (entries in permission lists) that one user may add",
	quota.Imports:   "maximum number of accepted files of one user whose import has not ended",
	quota.Search:    "maximum processing time of one user's searches, questions and listings, in each minute, such as 30s",
	quota.Changed:   "maximum bytes that one user's changes may add to the log in each hour, such as 20MiB; counts every change (names, tags, grants, moves, deletions, new content) and refused or failed files",
}

// folderLimitHelp has the help of the flags that limit a top-level folder.
var folderLimitHelp = map[quota.Kind]string{
	quota.Bytes:     "maximum bytes in a top-level folder and all folders below it, such as 500GiB; counts uploads and their text",
	quota.Documents: "maximum number of documents in a top-level folder and all folders below it",
}

// bindLimits binds the flags of the general limits, which apply to all users and
// folders.
func bindLimits(flags *pflag.FlagSet, s *usage.Settings, searches *int) {
	s.User, s.Folder = quota.Default, quota.DefaultFolder
	for kind, help := range limitHelp {
		flags.Var(settings.Limit(kind, &s.User[kind]), "quota-"+kind.String(), help+"; 0 for no limit")
	}
	for kind, help := range folderLimitHelp {
		flags.Var(settings.Limit(kind, &s.Folder[kind]), "quota-folder-"+kind.String(), help+"; 0 for no limit")
	}
	flags.StringArrayVar(&s.Others, "quota-for", nil, "limits for one user of another issuer, such as user:ALIAS/NAME=bytes=50GiB,search=2m; the names are those of the --quota-... flags; repeatable (default: none)")
	flags.IntVar(searches, "quota-searches", max(1, runtime.NumCPU()/2), "maximum number of searches, questions and listings of one user that run at the same time; further ones wait")
}

// accountsOf returns the accounts that the flags of a command select.
func accountsOf(cmd *cobra.Command, at *engine.URLs) admin.Accounts {
	return admin.Accounts{URLs: *at, Listen: defaultListen, Warn: cmd.ErrOrStderr()}
}

// accountsCommand runs a command on opened accounts.
type accountsCommand func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error

// onAccounts returns a function for cobra's RunE that opens the accounts and calls run.
func onAccounts(at *engine.URLs, run accountsCommand) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) error {
			return run(ctx, store, cmd, args)
		})
	}
}
