package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"annals/commands"
	"annals/events"
)

// vaultClient speaks the vault's interface: what sharing needs of it.
type vaultClient struct{ restClient }

type vaultFolder struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Parent string `json:"parentFolderId"` // none where it is at the top of what the caller may read
}

// folderPermissions is what a folder grants by itself. Owners own it whatever
// its list says.
type folderPermissions struct {
	Owners []events.Principal `json:"owners"`
	List   []folderEntry      `json:"permissions"`

	version string // of the folder, as If-Match takes it
}

// folderEntry is one entry of a folder's list. A pending one is an invitation
// that its user has not accepted.
type folderEntry struct {
	events.Permission
	Pending bool `json:"pending,omitempty"`
}

// find returns the folder of an id or of a path. A path is the full one, as
// search results tell it, or else one that begins at what the vault lists at
// the top: where the folders above one that was shared may not be read, that is
// the shared one. The folder's Name is the path or the id.
func (c *vaultClient) find(ctx context.Context, path string) (folder vaultFolder, err error) {
	if id, err := uuid.Parse(path); err == nil && len(path) == len(id.String()) {
		folder, err = c.folder(ctx, id)
		folder.Name = path
		return folder, err
	}
	path, err = commands.NormalizeFolder(strings.Trim(path, "/"))
	if err != nil {
		return folder, err
	}
	at, err := c.folders(ctx, url.Values{"path": {path}})
	if err != nil {
		return folder, err
	}
	if len(at) == 1 {
		folder = at[0]
		folder.Name = path
		return folder, nil
	}
	return c.descend(ctx, path)
}

// descend finds a folder by what the vault lists from the top on.
func (c *vaultClient) descend(ctx context.Context, path string) (folder vaultFolder, err error) {
	names := strings.Split(path, "/")
	for i, name := range names {
		where := url.Values{}
		if i > 0 {
			where.Set("parentFolderId", folder.ID)
		}
		siblings, err := c.folders(ctx, where)
		if err != nil {
			return folder, err
		}
		if folder, err = pick(siblings, name); err != nil {
			if i > 0 {
				err = fmt.Errorf("in %s: %w", strings.Join(names[:i], "/"), err)
			}
			return folder, err
		}
	}
	folder.Name = path
	return folder, nil
}

// pick returns the folder of a name; its error names what is like it.
func pick(folders []vaultFolder, name string) (vaultFolder, error) {
	var same, alike []vaultFolder
	for _, f := range folders {
		if f.Name == name {
			same = append(same, f)
		} else if strings.EqualFold(f.Name, name) {
			alike = append(alike, f)
		}
	}
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return vaultFolder{}, fmt.Errorf("%d folders are called %q: name one by its id, such as %s", len(same), name, same[0].ID)
	case len(alike) > 0:
		return vaultFolder{}, fmt.Errorf("there is no folder %q: did you mean %q?", name, alike[0].Name)
	}
	return vaultFolder{}, fmt.Errorf("there is no folder %q, or none that may be read", name)
}

// folders lists those of a path or directly below a folder, or at the top of
// what the caller may read.
func (c *vaultClient) folders(ctx context.Context, where url.Values) (list []vaultFolder, err error) {
	a, err := c.call(ctx, !patiently, c.request(ctx, http.MethodGet, "/folders?"+where.Encode(), "", nil))
	if isRefusal(err, http.StatusNotFound) && !where.Has("parentFolderId") {
		err = fmt.Errorf("%w; --vault-url is the URL of the vault, such as http://127.0.0.1:8080/vault", err)
	}
	if err != nil {
		return nil, err
	}
	return list, a.decode(&list)
}

func (c *vaultClient) folder(ctx context.Context, id uuid.UUID) (f vaultFolder, err error) {
	a, err := c.call(ctx, !patiently, c.request(ctx, http.MethodGet, "/folders/"+id.String(), "", nil))
	if isRefusal(err, http.StatusNotFound) {
		err = fmt.Errorf("there is no folder %s, or none that may be read: %w", id, err)
	}
	if err != nil {
		return f, err
	}
	return f, a.decode(&f)
}

// share changes what a folder grants to one principal; waits says that they
// have to accept first. Where others change the folder at the same moment, it
// begins again with what they made of it. A user who does not exist is refused
// unless forced.
func (c *vaultClient) share(ctx context.Context, folder vaultFolder, change grant, force bool) (waits bool, err error) {
	intervals := backoff.NewExponentialBackOff()
	intervals.InitialInterval, intervals.MaxInterval = c.pause, 2*time.Second
	p, err := backoff.Retry(ctx, func() (folderPermissions, error) {
		p, err := c.permissions(ctx, folder)
		if err == nil {
			var changed bool
			if changed, err = p.apply(change); changed {
				where := url.Values{}
				if !force && change.access != events.NoAccess {
					where.Set("mustExist", string(change.to))
				}
				p, err = c.setPermissions(ctx, folder, p, where)
			}
		}
		if isRefusal(err, http.StatusConflict) {
			return p, err
		}
		return p, backoff.Permanent(err)
	}, backoff.WithBackOff(intervals), backoff.WithMaxTries(20), backoff.WithMaxElapsedTime(0))
	if isRefusal(err, http.StatusUnprocessableEntity) && strings.Contains(err.Error(), "there is no user") {
		err = fmt.Errorf("%w: check the name, or share all the same by --force", err)
	}
	if err != nil {
		return false, err
	}
	if p.List == nil { // it was done, and could not be shown yet
		if p, err = c.permissions(ctx, folder); err != nil {
			return false, nil
		}
	}
	i := slices.IndexFunc(p.List, func(e folderEntry) bool { return e.Principal == change.to })
	return i >= 0 && p.List[i].Pending, nil
}

// apply makes a change in the list; changed is false where it says so
// already.
func (p *folderPermissions) apply(g grant) (changed bool, err error) {
	if slices.Contains(p.Owners, g.to) {
		if g.access == events.Own {
			return false, nil
		}
		return false, fmt.Errorf("%s is the folder's owner and may do everything in it, whatever its list says", g.to)
	}
	i := slices.IndexFunc(p.List, func(e folderEntry) bool { return e.Principal == g.to })
	entry := folderEntry{events.Permission{Principal: g.to, Access: g.access.String()}, false}
	switch {
	case i < 0 && g.access == events.NoAccess, i >= 0 && p.List[i] == entry:
		return false, nil
	case i < 0:
		p.List = append(p.List, entry)
	case g.access == events.NoAccess:
		p.List = slices.Delete(p.List, i, i+1)
	default:
		p.List[i] = entry
	}
	return true, nil
}

func (c *vaultClient) permissions(ctx context.Context, folder vaultFolder) (p folderPermissions, err error) {
	a, err := c.call(ctx, patiently, c.request(ctx, http.MethodGet, "/folders/"+folder.ID+"/permissions", "", nil))
	if err != nil {
		return p, err
	}
	p.version = a.header.Get("ETag")
	return p, a.decode(&p)
}

// setPermissions writes the list, unless the folder is of another version
// than p by now, and returns what became of it, as far as that is told.
func (c *vaultClient) setPermissions(ctx context.Context, folder vaultFolder, p folderPermissions, where url.Values) (after folderPermissions, err error) {
	list := append([]folderEntry{}, p.List...) // an empty list is written as one
	body, err := json.Marshal(map[string]any{"permissions": list})
	if err != nil {
		return after, err
	}
	a, err := c.call(ctx, patiently, c.request(ctx, http.MethodPut, "/folders/"+folder.ID+"/permissions?"+where.Encode(), p.version, body))
	if err != nil {
		return after, err
	}
	return after, a.decode(&after)
}

func (c *vaultClient) request(ctx context.Context, method, path, version string, body []byte) func() (*http.Request, error) {
	return func() (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body != nil {
			r.Header.Set("Content-Type", "application/json")
		}
		if version != "" {
			r.Header.Set("If-Match", version)
		}
		return r, nil
	}
}
