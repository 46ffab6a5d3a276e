package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"
)

// folderInvitation is a folder that somebody offers to share.
type folderInvitation struct {
	ID     string    `json:"folderId"`
	Name   string    `json:"folderName"`
	By     string    `json:"invitedBy"`
	Access string    `json:"access"`
	At     time.Time `json:"invitedAt"`
}

// answer does what the flags say about invitations, and lists them without any.
func (c *shareConfig) answer(ctx context.Context, client *vaultClient, out io.Writer) error {
	switch {
	case c.accept != "":
		return client.acceptNamed(ctx, out, c.accept)
	case c.decline != "":
		return client.declineNamed(ctx, out, c.decline)
	case c.unblock != "":
		return client.unblock(ctx, out, c.unblock)
	}
	return client.listInvitations(ctx, out)
}

// listInvitations prints what waits for an answer, and who is blocked.
func (c *vaultClient) listInvitations(ctx context.Context, out io.Writer) error {
	waiting, err := c.invitations(ctx)
	if err != nil {
		return err
	}
	var blocked []struct{ Principal string }
	if err := c.get(ctx, "/invitations/blocked", &blocked); err != nil {
		return err
	}
	if len(waiting) == 0 {
		fmt.Fprintln(out, "no invitations wait for your answer")
	} else {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "FOLDER\tINVITED BY\tACCESS\tSINCE\tID")
		for _, i := range waiting {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", printable(i.Name), printable(i.By), printable(i.Access), i.At.Format(time.DateOnly), printable(i.ID))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out, "answer by: annals share --accept ID, or --decline ID")
	}
	for _, b := range blocked {
		fmt.Fprintf(out, "invitations by %s are not shown: annals share --unblock %[1]s\n", printable(b.Principal))
	}
	return nil
}

func (c *vaultClient) acceptNamed(ctx context.Context, out io.Writer, name string) error {
	i, err := c.invitation(ctx, name)
	if err != nil {
		return err
	}
	if err := c.send(ctx, http.MethodPost, "/invitations/"+i.ID+"/accept"); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "you have %s access to %s and all below it, by %s\n", printable(i.Access), printable(i.Name), printable(i.By))
	return err
}

// declineNamed declines an invitation, or leaves the folder where there is none
// of the name.
func (c *vaultClient) declineNamed(ctx context.Context, out io.Writer, name string) error {
	i, err := c.invitation(ctx, name)
	if err == nil {
		if err := c.send(ctx, http.MethodPost, "/invitations/"+i.ID+"/decline"); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "declined; further invitations by %s are not shown until: annals share --unblock %[1]s\n", printable(i.By))
		return err
	}
	folder, missing := c.find(ctx, name)
	if missing != nil || !errors.As(err, new(noInvitation)) {
		return err
	}
	if err := c.send(ctx, http.MethodPost, "/invitations/"+folder.ID+"/decline"); isRefusal(err, http.StatusNotFound) {
		return fmt.Errorf("%s is not shared with you by name: there is nothing to decline", printable(name))
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "you left %s\n", printable(folder.Name))
	return err
}

func (c *vaultClient) unblock(ctx context.Context, out io.Writer, text string) error {
	who, err := parsePrincipal(text)
	if err == nil && !who.IsUser() {
		err = fmt.Errorf("%q is no user: users invite, such as user:bob", text)
	}
	if err != nil {
		return err
	}
	if err := c.send(ctx, http.MethodDelete, "/invitations/blocked?"+url.Values{"principal": {string(who)}}.Encode()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "invitations by %s are shown\n", printable(string(who)))
	return err
}

// noInvitation says that no invitation has a name.
type noInvitation struct {
	name    string
	waiting []folderInvitation
}

func (e noInvitation) Error() string {
	text := fmt.Sprintf("you have no invitation to a folder %q", e.name)
	if len(e.waiting) > 0 {
		text += fmt.Sprintf(": annals share lists the %d that wait, such as %q", len(e.waiting), e.waiting[0].Name)
	}
	return text
}

// invitation returns the one to a folder of an id or name. The name alone is
// known of it; of a path the last name is looked for.
func (c *vaultClient) invitation(ctx context.Context, name string) (folderInvitation, error) {
	waiting, err := c.invitations(ctx)
	if err != nil {
		return folderInvitation{}, err
	}
	_, err = uuid.Parse(name)
	byID := err == nil
	last := norm.NFC.String(strings.TrimRight(name, "/"))
	last = last[strings.LastIndex(last, "/")+1:]
	var same []folderInvitation
	for _, i := range waiting {
		if byID && strings.EqualFold(i.ID, name) || i.Name == last {
			same = append(same, i)
		}
	}
	switch len(same) {
	case 0:
		return folderInvitation{}, noInvitation{name, waiting}
	case 1:
		return same[0], nil
	}
	return folderInvitation{}, fmt.Errorf("%d invitations are to folders called %q, by %s and others: name one by its id, such as %s", len(same), last, same[0].By, same[0].ID)
}

func (c *vaultClient) invitations(ctx context.Context) (all []folderInvitation, err error) {
	err = c.get(ctx, "/invitations", &all)
	return all, err
}

func (c *vaultClient) get(ctx context.Context, path string, into any) error {
	a, err := c.call(ctx, patiently, c.request(ctx, http.MethodGet, path, "", nil))
	if err != nil {
		return err
	}
	return a.decode(into)
}

func (c *vaultClient) send(ctx context.Context, method, path string) error {
	_, err := c.call(ctx, patiently, c.request(ctx, method, path, "", nil))
	return err
}
