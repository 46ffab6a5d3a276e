package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"annals/events/fault"
	"annals/events/postgres"
	"annals/http/signin"
)

// accountsFlag names the accounts of the built-in sign-in, for every command
// that opens them.
const accountsFlag = "accounts"

func bindAccounts(root *cobra.Command) {
	root.PersistentFlags().String(accountsFlag, "", "URL of the accounts of the built-in sign-in, sqlite:///path, or postgres://user:password@host/database for several nodes (default: in the data folder)")
}

// accountsURL returns what --accounts says.
func accountsURL(cmd *cobra.Command) string { return cmd.Flag(accountsFlag).Value.String() }

// shared reports whether a URL names a database of PostgreSQL.
func shared(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains(postgres.Schemes, scheme)
}

// openAccounts opens the accounts that a URL names, or those in the data folder,
// and makes them where there are none.
func openAccounts(ctx context.Context, text, dataDir string) (*signin.Accounts, error) {
	if shared(text) {
		d, err := openDatabase(accountsFlag, text)
		if err != nil {
			return nil, err
		}
		return signin.OpenSharedAccounts(ctx, d)
	}
	path, err := accountsPath(text, dataDir)
	if err != nil {
		return nil, err
	}
	return signin.OpenAccountsFile(ctx, path)
}

// accountsPath returns the file that a URL names.
func accountsPath(text, dataDir string) (string, error) {
	if scheme, _, ok := strings.Cut(text, "://"); ok && scheme != "sqlite" {
		return "", fmt.Errorf("--%s: accounts lie at sqlite:///path or postgres://host/database, not at %s://", accountsFlag, scheme)
	}
	return place(accountsFlag, text, dataDir, "sqlite", signin.AccountsFile)
}

// accountsThere reports whether there are accounts, as far as that can be told
// without a server.
func accountsThere(text, dataDir string) (bool, error) {
	if shared(text) {
		_, err := openDatabase(accountsFlag, text)
		return err == nil, err
	}
	path, err := accountsPath(text, dataDir)
	if err != nil {
		return false, err
	}
	switch _, err := os.Stat(path); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fmt.Errorf("look for the accounts: %w", err)
	}
}

// isFolder reports whether there is a folder at a path.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// withAccounts runs f on the accounts of a command. Those in the data folder dir
// must have been made by a server.
func withAccounts(cmd *cobra.Command, dir string, f func(context.Context, *signin.Accounts) error) (err error) {
	if err := refuseUnfinished(dir); err != nil {
		return err
	}
	url := accountsURL(cmd)
	there, err := accountsThere(url, dir)
	if err != nil {
		return err
	}
	served, err := readURLs(dir)
	if err != nil {
		return err
	}
	switch {
	case url == "" && served.Accounts != "":
		return fault.Errorf(fault.NotFound, "the server on %s keeps its accounts at %s: give that URL, with its password if it has one, by --%s or ANNALS_ACCOUNTS", dir, served.Accounts, accountsFlag)
	case !there && url == "" && isFolder(dir):
		return fault.Errorf(fault.NotFound, "there are no accounts in the data folder %s: run serve on it first, or name by --%s or ANNALS_ACCOUNTS those in PostgreSQL if the service keeps them there", dir, accountsFlag)
	case !there && url == "":
		return fault.Errorf(fault.NotFound, "there is no data folder at %s: run serve first, or pass --data", dir)
	case !there:
		return fault.Errorf(fault.NotFound, "there are no accounts at %s: run serve first", url)
	}
	ctx := cmd.Context()
	accounts, err := openAccounts(ctx, url, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.Close()) }()
	access := &commandAccess{accountsURL: url, dataDir: dir, warn: cmd.ErrOrStderr()}
	defer func() { err = errors.Join(err, access.close()) }()
	accounts.Observe = func(ctx context.Context, e signin.Event) { access.record(ctx, signedIn(e, "")) }
	return f(ctx, accounts)
}

// userCopyCommand brings accounts from one store into another.
func userCopyCommand(dataDir func() string) *cobra.Command {
	var to string
	command := &cobra.Command{
		Use:   "copy --to URL",
		Short: "Copy all users, keys and programs to accounts elsewhere",
		Long: "Copy all users with their passwords, the signing keys, the programs and the tokens of annals token create to the\n" +
			"accounts at a URL, which must have had no users: from the data folder to PostgreSQL, when a service grows to several\n" +
			"nodes or is restored, or back. Sessions and sign-ins of programs are not copied. A backup has no tokens.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, from *signin.Accounts) (err error) {
				accounts, err := openAccounts(ctx, to, dataDir())
				if err != nil {
					return fmt.Errorf("--to: %w", err)
				}
				defer func() { err = errors.Join(err, accounts.Close()) }()
				if err := from.CopyInto(ctx, accounts); err != nil {
					return err
				}
				all, err := accounts.List(ctx)
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "copied %d users; serve them by --accounts\n", len(all))
				}
				return err
			})
		},
	}
	command.Flags().StringVar(&to, "to", "", "URL of the accounts, as --accounts has it")
	if err := command.MarkFlagRequired("to"); err != nil {
		panic(err) // the flag is there
	}
	return command
}
