package sharing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"annals/cmd/annals/client"
	"annals/cmd/annals/terminal"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"
)

// ListInvitations prints the caller's unanswered invitations, and the users whose
// invitations are blocked.
func ListInvitations(ctx context.Context, vault *client.Vault, out io.Writer) error {
	waiting, err := vault.Invitations(ctx)
	if err != nil {
		return err
	}
	blocked, err := vault.Blocked(ctx)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		fmt.Fprintln(out, "you have no unanswered invitations")
	} else {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "FOLDER\tINVITED BY\tACCESS\tSINCE\tID")
		for _, i := range waiting {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", terminal.Printable(i.Name), terminal.Printable(i.By), terminal.Printable(i.Access), i.At.Format(time.DateOnly), terminal.Printable(i.Folder))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out, "answer by: annals share --accept ID, or --decline ID")
	}
	for _, user := range blocked {
		fmt.Fprintf(out, "invitations by %s are not shown: annals share --unblock %[1]s\n", terminal.Printable(string(user)))
	}
	return nil
}

// Accept accepts the invitation to a folder, given by its name or id.
func Accept(ctx context.Context, vault *client.Vault, out io.Writer, name string) error {
	i, err := findInvitation(ctx, vault, name)
	if err != nil {
		return err
	}
	if err := vault.Accept(ctx, i.Folder); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "you have %s access to %s and all below it, by %s\n", terminal.Printable(i.Access), terminal.Printable(i.Name), terminal.Printable(i.By))
	return err
}

// Decline declines the invitation to a folder, given by its name or id. If there is no
// invitation, it leaves the accepted folder with this path or id.
func Decline(ctx context.Context, vault *client.Vault, out io.Writer, name string) error {
	i, err := findInvitation(ctx, vault, name)
	if err == nil {
		if err := vault.Decline(ctx, i.Folder); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "declined; further invitations by %s are not shown until: annals share --unblock %[1]s\n", terminal.Printable(i.By))
		return err
	}
	folder, missing := vault.FindFolder(ctx, name)
	if missing != nil || !errors.As(err, new(noInvitation)) {
		return err
	}
	if err := vault.Decline(ctx, folder.ID); client.IsRefusal(err, http.StatusNotFound) {
		return fmt.Errorf("%s is not shared with you by name: there is nothing to decline", terminal.Printable(name))
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "you left %s\n", terminal.Printable(folder.Name))
	return err
}

// Unblock shows the invitations by a user, such as "user:bob", again.
func Unblock(ctx context.Context, vault *client.Vault, out io.Writer, user string) error {
	principal, err := ParsePrincipal(user)
	if err == nil && !principal.IsUser() {
		err = fmt.Errorf("%q is not a user: only users invite; write user:NAME, such as user:bob", user)
	}
	if err != nil {
		return err
	}
	if err := vault.Unblock(ctx, principal); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "invitations by %s are shown\n", terminal.Printable(string(principal)))
	return err
}

// noInvitation is returned if no invitation matches a name.
type noInvitation struct {
	name    string
	waiting []client.Invitation
}

func (e noInvitation) Error() string {
	text := fmt.Sprintf("you have no invitation to a folder %q", e.name)
	if len(e.waiting) > 0 {
		text += fmt.Sprintf(": annals share lists your %d unanswered, such as %q", len(e.waiting), e.waiting[0].Name)
	}
	return text
}

// findInvitation returns the invitation to the folder with an id or a name. Invitations
// have no path, so only the last name of a path counts.
func findInvitation(ctx context.Context, vault *client.Vault, name string) (client.Invitation, error) {
	waiting, err := vault.Invitations(ctx)
	if err != nil {
		return client.Invitation{}, err
	}
	_, err = uuid.Parse(name)
	byID := err == nil
	last := norm.NFC.String(strings.TrimRight(name, "/"))
	last = last[strings.LastIndex(last, "/")+1:]
	var same []client.Invitation
	for _, i := range waiting {
		if byID && strings.EqualFold(i.Folder, name) || i.Name == last {
			same = append(same, i)
		}
	}
	switch len(same) {
	case 0:
		return client.Invitation{}, noInvitation{name, waiting}
	case 1:
		return same[0], nil
	}
	return client.Invitation{}, fmt.Errorf("%d invitations are to folders called %q, by %s and others: name one by its id, such as %s", len(same), last, terminal.Printable(same[0].By), terminal.Printable(same[0].Folder))
}
