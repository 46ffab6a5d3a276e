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

// Permissions are the grants of a folder, without those inherited from parent folders.
// Owners do not need to be in List.
type Permissions struct {
	Owners []events.Principal `json:"owners"`
	List   []PermissionEntry  `json:"permissions"`

	version string // ETag of the folder, for If-Match
}

// PermissionEntry is one grant of a folder. If Pending is true, it is an invitation
// that the user has not accepted yet.
type PermissionEntry struct {
	events.Permission
	Pending bool `json:"pending,omitempty"`
}

// Grant is a change of a folder's grants: the principal To gets Access. If Access is
// NoAccess, the grant of To is withdrawn.
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

// Share changes the grant of one principal on a folder. pending is true if the grant is
// an invitation that the user has to accept first. If the folder was changed
// concurrently, Share retries with the new version of the folder. If the user does not
// exist, Share returns an error unless force is set.
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
	if p.List == nil { // the change succeeded, but the reply does not contain the permissions
		if p, err = c.Permissions(ctx, folder); err != nil {
			return false, nil
		}
	}
	i := p.find(grant.To)
	return i >= 0 && p.List[i].Pending, nil
}

// Apply applies a grant to p, without a request. changed is false if p already has the
// grant.
func (p *Permissions) Apply(g Grant) (changed bool, err error) {
	if slices.Contains(p.Owners, g.To) {
		if g.Access == events.Own {
			return false, nil
		}
		return false, fmt.Errorf("%s owns the folder and may do everything in it: the access of an owner cannot be changed", g.To)
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

// setPermissions replaces the permissions of a folder if the folder still has the
// version in p. It returns the permissions in the reply.
func (c *Vault) setPermissions(ctx context.Context, folder string, p Permissions, query url.Values) (after Permissions, err error) {
	list := append([]PermissionEntry{}, p.List...) // an empty list must not be null
	_, err = c.Call(ctx, http.MethodPut, permissionsPath(folder)+"?"+query.Encode(), p.version, map[string]any{"permissions": list}, &after)
	return after, err
}

func permissionsPath(folder string) string {
	return "/folders/" + url.PathEscape(folder) + "/permissions"
}
