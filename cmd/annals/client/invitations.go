package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"annals/events"
)

// Invitation is an offer by another user to share a folder, which the caller has
// neither accepted nor declined.
type Invitation struct {
	Folder string    `json:"folderId"`
	Name   string    `json:"folderName"`
	By     string    `json:"invitedBy"`
	Access string    `json:"access"`
	At     time.Time `json:"invitedAt"`
}

// Invitations lists the invitations that the caller has neither accepted nor declined.
func (c *Vault) Invitations(ctx context.Context) (all []Invitation, err error) {
	err = c.Get(ctx, "/invitations", &all)
	return all, err
}

// Accept accepts the invitation to a folder.
func (c *Vault) Accept(ctx context.Context, folder string) error {
	return c.answer(ctx, folder, "accept")
}

// Decline declines the invitation to a folder. If the caller has accepted it before,
// Decline leaves the folder.
func (c *Vault) Decline(ctx context.Context, folder string) error {
	return c.answer(ctx, folder, "decline")
}

func (c *Vault) answer(ctx context.Context, folder, answer string) error {
	_, err := c.Call(ctx, http.MethodPost, "/invitations/"+url.PathEscape(folder)+"/"+answer, "", nil, nil)
	return err
}

// Blocked lists the users whom the caller has blocked. Their invitations are not shown
// to the caller.
func (c *Vault) Blocked(ctx context.Context) (all []events.Principal, err error) {
	var list []struct{ Principal events.Principal }
	err = c.Get(ctx, "/invitations/blocked", &list)
	for _, b := range list {
		all = append(all, b.Principal)
	}
	return all, err
}

// Unblock unblocks a user, whose invitations are then shown to the caller again.
func (c *Vault) Unblock(ctx context.Context, user events.Principal) error {
	_, err := c.Call(ctx, http.MethodDelete, "/invitations/blocked?"+url.Values{"principal": {string(user)}}.Encode(), "", nil, nil)
	return err
}
