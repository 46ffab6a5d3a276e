// Package sharing implements the command share: it shows and changes the grants of a
// folder, and lists, accepts and declines invitations. It calls the vault, the service
// at /vault, only through the client package.
package sharing

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"annals/cmd/annals/client"
	"annals/cmd/annals/terminal"
	"annals/events"

	"golang.org/x/text/unicode/norm"
)

// Show prints the grants of a folder, without those inherited from parent folders. path
// is the path or the id of the folder.
func Show(ctx context.Context, vault *client.Vault, out io.Writer, path string) error {
	folder, err := vault.FindFolder(ctx, path)
	if err != nil {
		return err
	}
	p, err := vault.Permissions(ctx, folder.ID)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PRINCIPAL\tACCESS")
	for _, owner := range p.Owners {
		fmt.Fprintf(table, "%s\towner\n", terminal.Printable(string(owner)))
	}
	for _, g := range p.List {
		access := terminal.Printable(g.Access)
		if g.Pending {
			access += ", invited"
		}
		fmt.Fprintf(table, "%s\t%s\n", terminal.Printable(string(g.Principal)), access)
	}
	return table.Flush()
}

// Change makes the change g to the grants of a folder and prints the result. path is
// the path or the id of the folder. If the user does not exist, Change returns an error
// unless force is set.
func Change(ctx context.Context, vault *client.Vault, out io.Writer, path string, g client.Grant, force bool) error {
	folder, err := vault.FindFolder(ctx, path)
	if err != nil {
		return err
	}
	pending, err := vault.Share(ctx, folder.ID, g, force)
	if err != nil {
		return err
	}
	to, name := terminal.Printable(string(g.To)), terminal.Printable(folder.Name)
	switch {
	case pending:
		_, err = fmt.Fprintf(out, "%s is invited to %s, and gets %s access after accepting: annals share --accept %s\n", to, name, g.Access, folder.ID)
	case g.Access != events.NoAccess:
		_, err = fmt.Fprintf(out, "%s has %s access to %s and all folders below it\n", to, g.Access, name)
	case folder.Parent != "":
		_, err = fmt.Fprintf(out, "%[2]s has no grant in %[1]s any more; grants in folders above it still apply\n", name, to)
	default:
		_, err = fmt.Fprintf(out, "%[2]s has no grant in %[1]s any more\n", name, to)
	}
	return err
}

// ParseGrant parses a principal, such as "user:bob", and an access, such as "read". The
// access "none" withdraws the grant of the principal.
func ParseGrant(principal, access string) (g client.Grant, err error) {
	if _, err := parsePrincipal(access); err == nil {
		return g, fmt.Errorf("the principal comes before the access: PATH %s %s", access, principal)
	}
	if g.To, err = parsePrincipal(principal); err != nil {
		return g, err
	}
	var known bool
	if g.Access, known = events.ParseAccess(access); !known && access != events.NoAccess.String() {
		return g, fmt.Errorf("the access must be read, write, own, or none to withdraw it, not %q", access)
	}
	return g, nil
}

// parsePrincipal parses a principal such as "group:staff". If text is not a principal,
// the error suggests one.
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
		return "", fmt.Errorf("%q is not a principal: did you mean %s:%s?", text, kind, name)
	}
	return "", fmt.Errorf("%q is not a principal: write user:NAME or group:NAME", text)
}
