package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"annals/commands/naming"

	"github.com/google/uuid"
)

// Vault is a client of the vault, the service at /vault, which manages documents and
// folders.
type Vault struct{ Client }

// Folder is a folder of the vault.
type Folder struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Parent string `json:"parentFolderId"` // "" if there is no parent or the caller may not read it
}

// FindFolder returns the folder with the given id or path. Name of the returned folder
// is that id or the normalized path. A path is either a full path, as in search
// results, or begins at a folder that the vault lists at the top level. The latter may
// be a shared folder, if the caller may not read its parent.
func (c *Vault) FindFolder(ctx context.Context, path string) (folder Folder, err error) {
	if id, err := uuid.Parse(path); err == nil && len(path) == len(id.String()) {
		folder, err = c.folder(ctx, id)
		folder.Name = path
		return folder, err
	}
	path, err = naming.Folder(strings.Trim(path, "/"))
	if err != nil {
		return folder, err
	}
	found, err := c.folders(ctx, url.Values{"path": {path}})
	switch {
	case err != nil:
		return folder, err
	case len(found) == 1:
		folder = found[0]
	default:
		if folder, err = c.descend(ctx, path); err != nil {
			return folder, err
		}
	}
	folder.Name = path
	return folder, nil
}

// descend finds a folder by listing the folders of each level, beginning at the top
// level.
func (c *Vault) descend(ctx context.Context, path string) (folder Folder, err error) {
	names := strings.Split(path, "/")
	for i, name := range names {
		query := url.Values{}
		if i > 0 {
			query.Set("parentFolderId", folder.ID)
		}
		siblings, err := c.folders(ctx, query)
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
	return folder, nil
}

// pick returns the folder with the given name. If folders has none with that name, the
// error suggests a folder with a similar name.
func pick(folders []Folder, name string) (Folder, error) {
	var same, similar []Folder
	for _, f := range folders {
		if f.Name == name {
			same = append(same, f)
		} else if strings.EqualFold(f.Name, name) {
			similar = append(similar, f)
		}
	}
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return Folder{}, fmt.Errorf("there are %d folders named %q: pass an id instead, such as %s", len(same), name, same[0].ID)
	case len(similar) > 0:
		return Folder{}, fmt.Errorf("there is no folder %q: did you mean %q?", name, similar[0].Name)
	}
	return Folder{}, fmt.Errorf("there is no folder %q that you may read", name)
}

// folders lists the folders that match the parameters in query: at a path, directly
// below a folder, or at the top level.
func (c *Vault) folders(ctx context.Context, query url.Values) (list []Folder, err error) {
	reply, err := c.Probe(ctx, c.Request(ctx, http.MethodGet, "/folders?"+query.Encode(), "", nil))
	if IsRefusal(err, http.StatusNotFound) && !query.Has("parentFolderId") {
		err = fmt.Errorf("%w; --vault-url is the URL of the vault, such as http://127.0.0.1:8080/vault", err)
	}
	if err != nil {
		return nil, err
	}
	err = reply.Decode(&list)
	return list, err
}

func (c *Vault) folder(ctx context.Context, id uuid.UUID) (f Folder, err error) {
	reply, err := c.Probe(ctx, c.Request(ctx, http.MethodGet, "/folders/"+id.String(), "", nil))
	if IsRefusal(err, http.StatusNotFound) {
		err = fmt.Errorf("there is no folder %s that you may read: %w", id, err)
	}
	if err != nil {
		return f, err
	}
	err = reply.Decode(&f)
	return f, err
}

// FolderAt returns the folder at a full path. found is false if it does not exist or the
// caller may not read it.
func (c *Vault) FolderAt(ctx context.Context, path string) (folder Folder, found bool, err error) {
	var list []Folder
	if err := c.Get(ctx, "/folders?"+url.Values{"path": {path}}.Encode(), &list); err != nil || len(list) != 1 {
		return Folder{}, false, err
	}
	return list[0], true, nil
}

// Subfolders lists the folders directly below a folder, or those at the top level if
// folder is "".
func (c *Vault) Subfolders(ctx context.Context, folder string) ([]Folder, error) {
	query := url.Values{}
	if folder != "" {
		query.Set("parentFolderId", folder)
	}
	return list[Folder](ctx, c, "/folders", query)
}

// CreateFolder creates a folder and returns its id. If another client created the
// folder first, it returns the id of that folder, which it finds by path.
func (c *Vault) CreateFolder(ctx context.Context, parent, name, path string) (id string, err error) {
	var created Folder
	reply, err := c.Call(ctx, http.MethodPost, "/folders", "", map[string]string{"name": name, "parentFolderId": parent}, &created)
	switch {
	case IsRefusal(err, http.StatusConflict):
		there, found, errFind := c.FolderAt(ctx, path)
		if found || errFind != nil {
			return there.ID, errFind
		}
	case err == nil && created.ID == "":
		return "", fmt.Errorf("the reply from %s has no folder id", reply.url)
	}
	return created.ID, err
}

// list returns all pages of a listing.
func list[T any](ctx context.Context, c *Vault, path string, query url.Values) (all []T, err error) {
	const limit = 1000
	query.Set("limit", strconv.Itoa(limit))
	for {
		var page []T
		reply, err := c.Call(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		cursor := nextCursor(reply.Header.Get("Link"))
		if cursor == "" {
			return all, nil
		}
		if cursor == query.Get("cursor") {
			return nil, errors.New("read all pages of a listing: the server returned the same cursor twice")
		}
		query.Set("cursor", cursor)
	}
}

// nextCursor returns the cursor in the Link header of a page, or "" on the last page.
// It ignores the rest of the linked URL, because this client may use another address
// for the server than the server does.
func nextCursor(link string) string {
	address, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Query().Get("cursor")
}
