package main

import (
	"errors"
	"time"

	"annals/cmd/annals/client"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/cmd/annals/sharing"
	"annals/cmd/annals/terminal"

	"github.com/spf13/cobra"
)

// shareConfig holds the flags of share.
type shareConfig struct {
	connection
	accept, decline, unblock string // at most one
	invitations, force       bool
}

// shareCommand shows and changes who may do what in a folder, through the REST
// interface.
func shareCommand(at *engine.URLs) *cobra.Command {
	c := new(shareConfig)
	command := &cobra.Command{
		Use:   "share [PATH [PRINCIPAL ACCESS]]",
		Short: "Show or change who may do what in a folder, and answer invitations, through a running server",
		Long: "Show what a folder grants, or change what it grants in itself and in all folders below it. PATH is the folder's path as\n" +
			"search results show it or as the vault lists it, or its id; PRINCIPAL is user:NAME or group:NAME; ACCESS is read, write\n" +
			"(import and change), own (share and delete), or none, which withdraws a grant. Grants of the folders above count, too.\n\n" +
			"A grant to a single user is an invitation, which has no effect until they accept it by --accept; grants by an\n" +
			"administrator count at once. Without PATH the command lists your unanswered invitations.",
		Example: "  annals share reports/2024 group:staff read\n  annals share reports/2024 user:bob none\n  annals share reports/2024\n  annals share\n  annals share --accept 2024",
		Args:    func(_ *cobra.Command, args []string) error { return c.checkArgs(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, at, args)
		},
	}
	flags := command.Flags()
	c.bind(flags)
	flags.BoolVar(&c.invitations, "invitations", false, "list your unanswered invitations, like annals share without PATH")
	flags.StringVar(&c.accept, "accept", "", "accept the invitation to a folder, given by name or id")
	flags.StringVar(&c.decline, "decline", "", "decline the invitation to a folder, given by name or id, and hide further invitations by the same user; or leave a folder that you accepted, given by path or id")
	flags.StringVar(&c.unblock, "unblock", "", "show invitations by a user, such as user:bob, again after you declined one")
	flags.BoolVar(&c.force, "force", false, "share even if the user does not exist in the built-in sign-in; users of other issuers are never checked")
	settings.FlagOnly(flags, "invitations", "accept", "decline", "unblock", "force")
	return command
}

// checkArgs returns an error unless the arguments and flags request exactly one action.
func (c *shareConfig) checkArgs(args []string) error {
	asked := 0
	for _, flag := range []bool{c.invitations, c.accept != "", c.decline != "", c.unblock != ""} {
		if flag {
			asked++
		}
	}
	switch {
	case asked > 1:
		return errors.New("--invitations, --accept, --decline and --unblock exclude each other: give one of them")
	case asked == 1 && len(args) > 0:
		return errors.New("--invitations, --accept, --decline and --unblock take no PATH")
	case c.force && len(args) != 3:
		return errors.New("--force goes with PATH PRINCIPAL ACCESS, such as: reports/2024 user:bob read --force")
	case len(args) == 2 || len(args) > 3:
		return errors.New("share takes PATH, or PATH PRINCIPAL ACCESS, such as: reports/2024 user:bob read")
	}
	return nil
}

func (c *shareConfig) run(cmd *cobra.Command, at *engine.URLs, args []string) error {
	var grant client.Grant
	if len(args) == 3 {
		var err error
		if grant, err = sharing.ParseGrant(args[1], args[2]); err != nil {
			return err
		}
	}
	target := c.target(at.Data)
	address, err := target.VaultURL()
	if err != nil {
		return err
	}
	core, err := target.CoreOfVault()
	if err != nil {
		return err
	}
	credential, err := c.credential(cmd, at, core)
	if err != nil {
		return err
	}
	printLine := terminal.LinePrinter(cmd.ErrOrStderr())
	vault := &client.Vault{Client: client.Client{
		URL: address, HTTP: client.NewHTTPClient(1), Tries: 10, Pause: 100 * time.Millisecond, Credential: credential,
		Notify: func(text string) { printLine(text) },
	}}
	defer vault.HTTP.CloseIdleConnections()
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	switch {
	case len(args) == 3:
		return sharing.Change(ctx, vault, out, args[0], grant, c.force)
	case len(args) == 1:
		return sharing.Show(ctx, vault, out, args[0])
	case c.accept != "":
		return sharing.Accept(ctx, vault, out, c.accept)
	case c.decline != "":
		return sharing.Decline(ctx, vault, out, c.decline)
	case c.unblock != "":
		return sharing.Unblock(ctx, vault, out, c.unblock)
	}
	return sharing.ListInvitations(ctx, vault, out)
}
