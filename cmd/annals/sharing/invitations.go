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

// ListInvitations prints the invitations that the caller has neither accepted nor
// declined, and the users whom the caller has blocked.
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
		fmt.Fprintln(out, "to answer: annals share --accept ID, or annals share --decline ID")
	}
	for _, user := range blocked {
		fmt.Fprintf(out, "invitations from %s are hidden; to show them: annals share --unblock %[1]s\n", terminal.Printable(string(user)))
	}
	return nil
}

// Accept accepts the invitation to a folder. name is the name or the id of the folder.
func Accept(ctx context.Context, vault *client.Vault, out io.Writer, name string) error {
	i, err := findInvitation(ctx, vault, name)
	if err != nil {
		return err
	}
	if err := vault.Accept(ctx, i.Folder); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "you have %s access to %s and all folders below it, granted by %s\n", terminal.Printable(i.Access), terminal.Printable(i.Name), terminal.Printable(i.By))
	return err
}

// Decline declines the invitation to a folder; name is the name or the id of the
// folder. If there is no such invitation, Decline leaves the folder with the path or id
// name, whose invitation the caller has accepted before.
func Decline(ctx context.Context, vault *client.Vault, out io.Writer, name string) error {
	i, err := findInvitation(ctx, vault, name)
	if err == nil {
		if err := vault.Decline(ctx, i.Folder); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "declined; later invitations from %s are hidden; to show them: annals share --unblock %[1]s\n", terminal.Printable(i.By))
		return err
	}
	folder, missing := vault.FindFolder(ctx, name)
	if missing != nil || !errors.As(err, new(noInvitation)) {
		return err
	}
	if err := vault.Decline(ctx, folder.ID); client.IsRefusal(err, http.StatusNotFound) {
		return fmt.Errorf("there is nothing to decline: no grant in %s names you", terminal.Printable(name))
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "you left %s\n", terminal.Printable(folder.Name))
	return err
}

// Unblock unblocks a user, such as "user:bob", whose invitations are then shown to the
// caller again.
func Unblock(ctx context.Context, vault *client.Vault, out io.Writer, user string) error {
	principal, err := parsePrincipal(user)
	if err == nil && !principal.IsUser() {
		err = fmt.Errorf("%q is not a user, and only users can invite: write user:NAME, such as user:bob", user)
	}
	if err != nil {
		return err
	}
	if err := vault.Unblock(ctx, principal); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "invitations from %s are shown again\n", terminal.Printable(string(principal)))
	return err
}

// noInvitation is the error if there is no invitation to the named folder.
type noInvitation struct {
	name    string
	waiting []client.Invitation
}

func (e noInvitation) Error() string {
	text := fmt.Sprintf("you have no invitation to a folder named %q", e.name)
	if len(e.waiting) > 0 {
		text += fmt.Sprintf(": annals share lists your %d unanswered invitations, such as to %q", len(e.waiting), e.waiting[0].Name)
	}
	return text
}

// findInvitation returns the invitation to a folder. name is the name or the id of the
// folder. Of a path only the last element is compared, because invitations contain no
// path.
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
	return client.Invitation{}, fmt.Errorf("%d invitations are to folders named %q, from %s and others: pass an id instead, such as %s", len(same), last, terminal.Printable(same[0].By), terminal.Printable(same[0].Folder))
}
