package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"annals/events"

	"github.com/cenkalti/backoff/v5"
)

// Permissions are the grants of a folder, without inherited ones. Owners own it even if
// the list does not name them.
type Permissions struct {
	Owners []events.Principal `json:"owners"`
	List   []PermissionEntry  `json:"permissions"`

	version string // of the folder, as If-Match takes it
}

// PermissionEntry is one entry of a folder's list. A pending one is an invitation
// that its user has not accepted.
type PermissionEntry struct {
	events.Permission
	Pending bool `json:"pending,omitempty"`
}

// Grant is a change to the grants of a folder; NoAccess withdraws a grant.
type Grant struct {
	To     events.Principal
	Access events.Access
}

// Permissions returns the grants of a folder.
func (c *Vault) Permissions(ctx context.Context, folder string) (p Permissions, err error) {
	reply, err := c.Call(ctx, http.MethodGet, permissionsPath(folder), "", nil, &p)
	if err == nil {
		p.version = reply.Header.Get("ETag")
	}
	return p, err
}

// Share changes the grant of a folder to one principal, and reports whether it is an
// invitation that they have to accept. If others change the folder at the same time, it
// starts again from their version. It refuses users who do not exist unless force is
// set.
func (c *Vault) Share(ctx context.Context, folder string, grant Grant, force bool) (pending bool, err error) {
	query := url.Values{}
	if !force && grant.Access != events.NoAccess {
		query.Set("mustExist", string(grant.To))
	}
	intervals := backoff.NewExponentialBackOff()
	intervals.InitialInterval, intervals.MaxInterval = c.Pause, 2*time.Second
	p, err := backoff.Retry(ctx, func() (Permissions, error) {
		p, err := c.Permissions(ctx, folder)
		var changed bool
		if err == nil {
			changed, err = p.Apply(grant)
		}
		if changed && err == nil {
			p, err = c.setPermissions(ctx, folder, p, query)
		}
		if IsRefusal(err, http.StatusConflict) {
			return p, err
		}
		return p, backoff.Permanent(err)
	}, backoff.WithBackOff(intervals), backoff.WithMaxTries(20), backoff.WithMaxElapsedTime(0))
	if IsRefusal(err, http.StatusUnprocessableEntity) && strings.Contains(err.Error(), "there is no user") {
		err = fmt.Errorf("%w: check the name, or share anyway with --force", err)
	}
	if err != nil {
		return false, err
	}
	if p.List == nil { // the change was made, but the reply does not show it
		if p, err = c.Permissions(ctx, folder); err != nil {
			return false, nil
		}
	}
	i := p.find(grant.To)
	return i >= 0 && p.List[i].Pending, nil
}

// Apply makes a change in the list, and reports whether the list was changed.
func (p *Permissions) Apply(g Grant) (changed bool, err error) {
	if slices.Contains(p.Owners, g.To) {
		if g.Access == events.Own {
			return false, nil
		}
		return false, fmt.Errorf("%s is the folder's owner and may always do everything in it: owners need no grant", g.To)
	}
	i := p.find(g.To)
	entry := PermissionEntry{events.Permission{Principal: g.To, Access: g.Access.String()}, false}
	switch {
	case i < 0 && g.Access == events.NoAccess, i >= 0 && p.List[i] == entry:
		return false, nil
	case i < 0:
		p.List = append(p.List, entry)
	case g.Access == events.NoAccess:
		p.List = slices.Delete(p.List, i, i+1)
	default:
		p.List[i] = entry
	}
	return true, nil
}

func (p *Permissions) find(principal events.Principal) int {
	return slices.IndexFunc(p.List, func(e PermissionEntry) bool { return e.Principal == principal })
}

// setPermissions writes the list if the folder still has the version of p, and returns
// the permissions that the server shows then.
func (c *Vault) setPermissions(ctx context.Context, folder string, p Permissions, query url.Values) (after Permissions, err error) {
	list := append([]PermissionEntry{}, p.List...) // an empty list must not be null
	_, err = c.Call(ctx, http.MethodPut, permissionsPath(folder)+"?"+query.Encode(), p.version, map[string]any{"permissions": list}, &after)
	return after, err
}

func permissionsPath(folder string) string {
	return "/folders/" + url.PathEscape(folder) + "/permissions"
}
