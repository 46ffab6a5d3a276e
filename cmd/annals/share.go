package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"

	"annals/events"
)

// shareConfig is everything that share can be told.
type shareConfig struct {
	connection
	vaultURL string

	accept, decline, unblock string // what is to be answered; at most one
	invitations              bool
	force                    bool // share with users who do not exist, too

	pause time.Duration // before a second try; it grows
}

// shareCommand shows and changes who may do what in a folder, through the
// REST interface.
func shareCommand(dataDir func() string) *cobra.Command {
	c := &shareConfig{pause: 100 * time.Millisecond}
	command := &cobra.Command{
		Use:   "share [PATH [PRINCIPAL ACCESS]]",
		Short: "Show or change who may do what in a folder, and answer invitations, through a running server",
		Long: "Show what a folder grants, or grant something in it and in all below it. PATH is the folder's path as search\n" +
			"results show it or as the vault lists it, or its id; PRINCIPAL is user:NAME or group:NAME; ACCESS is read, write (import and change), own (share\n" +
			"and delete), or none, which withdraws what was granted. What folders above it grant holds in a folder too.\n\n" +
			"A share with a single user is an invitation, which grants nothing until they accept it by --accept; what an\n" +
			"administrator shares counts at once. Without PATH the invitations are listed that wait for your own answer.",
		Example: "  annals share reports/2024 group:staff read\n  annals share reports/2024 user:bob none\n  annals share reports/2024\n  annals share\n  annals share --accept 2024",
		Args:    func(_ *cobra.Command, args []string) error { return c.checkArgs(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, dataDir(), args)
		},
	}
	c.bind(command.Flags())
	command.Flags().StringVar(&c.vaultURL, "vault-url", "", "URL of the vault (default: beside the core, or of the server on the data folder)")
	command.Flags().BoolVar(&c.invitations, "invitations", false, "list the invitations that wait for your answer, as without PATH")
	command.Flags().StringVar(&c.accept, "accept", "", "accept the invitation to a folder, given by its name or id")
	command.Flags().StringVar(&c.decline, "decline", "", "decline the invitation to a folder, given by its name or id, and see no further ones by its inviter; or leave a folder that you accepted, given by its path or id")
	command.Flags().StringVar(&c.unblock, "unblock", "", "see the invitations of a user again, such as user:bob, of whom you declined one")
	command.Flags().BoolVar(&c.force, "force", false, "share with a user of the built-in sign-in who does not exist (yet), too; users of other issuers are not looked up")
	markByFlagAlone(command.Flags(), "invitations", "accept", "decline", "unblock", "force")
	return command
}

// checkArgs returns an error unless the arguments and flags ask for one thing.
func (c *shareConfig) checkArgs(args []string) error {
	asked := 0
	for _, flag := range []bool{c.invitations, c.accept != "", c.decline != "", c.unblock != ""} {
		if flag {
			asked++
		}
	}
	switch {
	case asked > 1:
		return errors.New("--invitations, --accept, --decline and --unblock are given one at a time")
	case asked == 1 && len(args) > 0:
		return errors.New("--invitations, --accept, --decline and --unblock take no PATH beside them")
	case c.force && len(args) != 3:
		return errors.New("--force goes with PATH PRINCIPAL ACCESS, such as: reports/2024 user:bob read --force")
	case len(args) == 2 || len(args) > 3:
		return errors.New("share takes PATH, or PATH PRINCIPAL ACCESS, such as: reports/2024 user:bob read")
	}
	return nil
}

func (c *shareConfig) run(cmd *cobra.Command, dataDir string, args []string) error {
	var change grant
	if len(args) == 3 {
		var err error
		if change, err = parseGrant(args[1], args[2]); err != nil {
			return err
		}
	}
	address, err := c.vault(c.vaultURL, dataDir)
	if err != nil {
		return err
	}
	core, err := c.coreBeside(address, dataDir)
	if err != nil {
		return err
	}
	as, err := c.credential(cmd, dataDir, core)
	if err != nil {
		return err
	}
	client := &vaultClient{restClient{
		url: address, http: newHTTPClient(1), tries: 10, pause: c.pause, as: as,
		tell: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) },
	}}
	defer client.http.CloseIdleConnections()
	if len(args) == 0 {
		return c.answer(cmd.Context(), client, cmd.OutOrStdout())
	}
	return carryOutGrant(cmd.Context(), client, cmd.OutOrStdout(), args[0], change, c.force)
}

// carryOutGrant makes a change of what a folder grants and tells the outcome;
// without a change it lists what the folder grants.
func carryOutGrant(ctx context.Context, client *vaultClient, out io.Writer, path string, change grant, force bool) error {
	folder, err := client.find(ctx, path)
	if err != nil {
		return err
	}
	if change != (grant{}) {
		waits, err := client.share(ctx, folder, change, force)
		if err != nil {
			return err
		}
		return change.tell(out, folder, waits)
	}
	p, err := client.permissions(ctx, folder)
	if err != nil {
		return err
	}
	return p.print(out)
}

// grant is a change of what a folder grants; the zero value changes nothing.
type grant struct {
	to     events.Principal
	access events.Access // NoAccess withdraws
}

func parseGrant(principal, access string) (g grant, err error) {
	if _, err := parsePrincipal(access); err == nil {
		return g, fmt.Errorf("the principal comes before the access: PATH %s %s", access, principal)
	}
	if g.to, err = parsePrincipal(principal); err != nil {
		return g, err
	}
	var known bool
	if g.access, known = events.ParseAccess(access); !known && access != events.NoAccess.String() {
		return g, fmt.Errorf("%q is no access: it is read, write, own, or none to withdraw", access)
	}
	return g, nil
}

// parsePrincipal reads a principal; its error says what was meant, as far as
// that can be guessed.
func parsePrincipal(text string) (events.Principal, error) {
	p := events.Principal(norm.NFC.String(strings.TrimSpace(text)))
	if p.IsUser() || p.IsGroup() {
		return p, nil
	}
	kind, name, found := strings.Cut(string(p), ":")
	if !found {
		kind, name = "user", kind
	}
	switch kind = strings.TrimSuffix(strings.ToLower(kind), "s"); {
	case name == "" || strings.Contains(name, ":"):
	case kind == "user", kind == "group":
		return "", fmt.Errorf("%q is no principal: did you mean %s:%s?", text, kind, name)
	}
	return "", fmt.Errorf("%q is no principal: write user:NAME or group:NAME", text)
}

// tell prints what a change of a folder has led to, and whether that waits for
// an answer.
func (g grant) tell(out io.Writer, folder vaultFolder, waits bool) (err error) {
	switch {
	case waits:
		_, err = fmt.Fprintf(out, "%s is invited to %s, with %s access that counts once they accept: annals share --accept %s\n",
			printable(string(g.to)), printable(folder.Name), g.access, folder.ID)
	case g.access != events.NoAccess:
		_, err = fmt.Fprintf(out, "%s has %s access to %s and all below it\n", printable(string(g.to)), g.access, printable(folder.Name))
	case folder.Parent != "":
		_, err = fmt.Fprintf(out, "%s grants nothing to %s; what folders above it grant still holds\n", printable(folder.Name), printable(string(g.to)))
	default:
		_, err = fmt.Fprintf(out, "%s grants nothing to %s\n", printable(folder.Name), printable(string(g.to)))
	}
	return err
}

// print lists who may do what by a folder's own list.
func (p folderPermissions) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PRINCIPAL\tACCESS")
	for _, owner := range p.Owners {
		fmt.Fprintf(table, "%s\towner\n", printable(string(owner)))
	}
	for _, g := range p.List {
		access := printable(g.Access)
		if g.Pending {
			access += ", invited"
		}
		fmt.Fprintf(table, "%s\t%s\n", printable(string(g.Principal)), access)
	}
	return table.Flush()
}
