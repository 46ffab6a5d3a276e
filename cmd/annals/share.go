package main

import (
	"errors"

	"annals/cmd/annals/client"
	"annals/cmd/annals/connection"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/cmd/annals/sharing"

	"github.com/spf13/cobra"
)

// shareConfig holds the flags of share.
type shareConfig struct {
	connection.Flags
	accept, decline, unblock string // at most one of these is set
	invitations, force       bool
}

// shareCommand shows and changes the grants of a folder through the REST interface of a
// running server.
func shareCommand(at *engine.URLs) *cobra.Command {
	c := new(shareConfig)
	command := &cobra.Command{
		Use:   "share [PATH [PRINCIPAL ACCESS]]",
		Short: "Share a folder, show who has access to it, and answer invitations, through a running server",
		Long: "Show or change who has access to a folder and to all folders below it. PATH is the path of the folder, as in search\n" +
			"results or as the vault lists it, or its id. PRINCIPAL is user:NAME or group:NAME. ACCESS is read, write (import and\n" +
			"change), own (also share and delete), or none to withdraw the access. Access to a folder above counts as well; it is\n" +
			"not shown, and none does not withdraw it.\n\n" +
			"A grant to a single user is an invitation: it takes effect only after that user accepts it with --accept. Grants by\n" +
			"an administrator take effect immediately. Without PATH the command lists your unanswered invitations.",
		Example: "  annals share reports/2024 group:staff read\n  annals share reports/2024 user:bob none\n  annals share reports/2024\n  annals share\n  annals share --accept 2024",
		Args:    func(_ *cobra.Command, args []string) error { return c.checkArgs(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, at, args)
		},
	}
	flags := command.Flags()
	c.Bind(flags)
	flags.BoolVar(&c.invitations, "invitations", false, "list your unanswered invitations, the same as annals share without PATH")
	flags.StringVar(&c.accept, "accept", "", "name or id of a folder: accept the invitation to it")
	flags.StringVar(&c.decline, "decline", "", "name or id of a folder: decline the invitation to it, and hide later invitations from the same user; or path or id of a folder whose invitation you accepted: leave it")
	flags.StringVar(&c.unblock, "unblock", "", "principal of a user whose invitation you declined, such as user:bob: show later invitations from that user again")
	flags.BoolVar(&c.force, "force", false, "share even if the built-in sign-in has no such user; users of other issuers are never checked")
	settings.FlagOnly(flags, "invitations", "accept", "decline", "unblock", "force")
	return command
}

// checkArgs returns an error unless the arguments and flags request exactly one action.
func (c *shareConfig) checkArgs(args []string) error {
	actions := 0
	for _, flag := range []bool{c.invitations, c.accept != "", c.decline != "", c.unblock != ""} {
		if flag {
			actions++
		}
	}
	switch {
	case actions > 1:
		return errors.New("--invitations, --accept, --decline and --unblock exclude each other: pass only one of them")
	case actions == 1 && len(args) > 0:
		return errors.New("--invitations, --accept, --decline and --unblock take no PATH: leave it out")
	case c.force && len(args) != 3:
		return errors.New("--force needs PATH PRINCIPAL ACCESS, such as: reports/2024 user:bob read --force")
	case len(args) == 2 || len(args) > 3:
		return errors.New("pass PATH, or PATH PRINCIPAL ACCESS, such as: reports/2024 user:bob read")
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
	_, vault, err := c.Clients(cmd.Context(), accountsOf(cmd, at))
	if err != nil {
		return err
	}
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
