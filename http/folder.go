package http

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"annals/commands/foldertree"
	"annals/http/conditional"
	"annals/http/form"
	"annals/queries/vault"

	"github.com/google/uuid"
)

type folder struct {
	ID        uuid.UUID  `json:"id"`
	Name      string     `json:"name"`
	Parent    *uuid.UUID `json:"parentFolderId"`
	DocFolder bool       `json:"docFolder"`
	CreatedAt moment     `json:"createdAt"`
	UpdatedAt moment     `json:"updatedAt"`
}

type folderDetail struct {
	folder
	Ancestors       []named        `json:"ancestors"`
	Documents       []documentItem `json:"documents"`
	Subfolders      []subfolder    `json:"subfolders"`
	ParentDocuments []documentItem `json:"parentDocuments"`
}

type named struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

type subfolder struct {
	named
	DocFolder bool `json:"docFolder"`
}

func folderBody(f vault.Folder) folder {
	return folder{f.ID, f.Name, parentOrNull(f.Parent), f.DocFolder, moment(f.CreatedAt), moment(f.UpdatedAt)}
}

func parentOrNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// folders handles GET /folders.
func (s *Server) folders(c *call) (any, error) {
	f := form.NewQuery(c.Request)
	parent, path, limit, after := f.ID("parentFolderId"), f.Text("path"), f.Limit(s.Limits.PageSize), folderCursor(f)
	if parent != nil && path != "" {
		f.Wrong = append(f.Wrong, "path and parentFolderId must not be given together")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	var all []vault.Folder
	var err error
	if path != "" {
		all, err = s.folderAt(c, path)
	} else {
		all, err = s.Queries.Folders(c.Context(), c.user, parent)
	}
	if err != nil {
		return nil, err
	}
	all, next := pageOf(all, limit, after)
	return s.listing(c, each(all, folderBody), next), nil
}

// folderAt returns a list with the folder at a path, or an empty list.
func (s *Server) folderAt(c *call, path string) ([]vault.Folder, error) {
	f, found, err := s.Queries.FolderAt(c.Context(), c.user, path)
	if err != nil || !found {
		return nil, err
	}
	return []vault.Folder{f}, nil
}

// folder handles GET /folders/{id}.
func (s *Server) folder(c *call, id uuid.UUID) (any, error) {
	f := form.NewQuery(c.Request)
	include := f.IsTrue("include")
	if err := f.Err(); err != nil {
		return nil, err
	}
	if !include {
		return s.showFolder(c.Context(), c, http.StatusOK, id)
	}
	d, err := s.Queries.FolderDetail(c.Context(), c.user, id)
	return folderDetail{
		folder:          folderBody(d.Folder),
		Ancestors:       each(d.Ancestors, func(a vault.Folder) named { return named{a.ID, a.Name} }),
		Documents:       each(d.Documents, documentItemBody),
		Subfolders:      each(d.Subfolders, func(b vault.Folder) subfolder { return subfolder{named{b.ID, b.Name}, b.DocFolder} }),
		ParentDocuments: each(d.ParentDocuments, documentItemBody),
	}, err
}

// showFolder replies with a folder.
func (s *Server) showFolder(ctx context.Context, c *call, status int, id uuid.UUID) (reply, error) {
	f, err := s.Queries.Folder(ctx, c.user, id)
	return tagged(status, conditional.Folder(f.Version), folderBody(f)), err
}

// createFolder handles POST /folders.
func (s *Server) createFolder(c *call) (any, error) {
	f, err := form.ReadFields(c.Request, s.Limits.JSONBytes)
	if err != nil {
		return nil, err
	}
	create := foldertree.CreateFolder{Name: f.Text("name")}
	if parent := f.OptionalID("parentFolderId", true); parent != nil {
		create.Parent = *parent
		c.named = append(c.named, "folder-"+parent.String())
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	id, at, err := s.Commands.CreateFolder(c.Context(), c.user, Correlation(c.Context()), create)
	if err != nil {
		return nil, err
	}
	answer := s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showFolder(ctx, c, http.StatusCreated, id) })
	return located(s.VaultURL.JoinPath("folders", id.String()).String(), answer), nil
}

// changeFolder handles PATCH /folders/{id}.
func (s *Server) changeFolder(c *call, id uuid.UUID) (any, error) {
	f, err := form.ReadFields(c.Request, s.Limits.JSONBytes)
	if err != nil {
		return nil, err
	}
	change := foldertree.ChangeFolder{ID: id, Name: f.OptionalText("name"), Parent: f.OptionalID("parentFolderId", true)}
	if change.Name == nil && change.Parent == nil {
		f.Refuse("name or parentFolderId should be given")
	}
	change.Version = conditional.FolderVersion(c.Header, f.Wrong)
	if err := f.Err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.ChangeFolder(c.Context(), c.user, Correlation(c.Context()), change)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showFolder(ctx, c, http.StatusOK, id) }), nil
}

// deleteFolder handles DELETE /folders/{id}.
func (s *Server) deleteFolder(c *call, id uuid.UUID) (any, error) {
	f := form.NewQuery(c.Request)
	remove := foldertree.DeleteFolder{ID: id, Recursive: f.Boolean("recursive"), Version: conditional.FolderVersion(c.Header, &f.Wrong)}
	if err := f.Err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.DeleteFolder(c.Context(), c.user, Correlation(c.Context()), remove)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// each applies f to every entry. The result is never nil.
func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}

// position is the position of a folder in a listing, which is sorted by name and then by id.
type position struct{ name, id string }

func positionOf(f vault.Folder) position { return position{strings.ToLower(f.Name), f.ID.String()} }

// folderCursor returns the position of the last folder of the previous page, or nil for the
// first page.
func folderCursor(f *form.Query) *position {
	text, given := f.One("cursor", "cursor must be a string")
	if !given {
		return nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	id, name, ok := strings.Cut(string(plain), " ")
	if _, isID := form.ParseID(id); err != nil || !ok || !isID {
		f.Wrong = append(f.Wrong, "cursor must come from a Link header of this listing")
	}
	return &position{name, id}
}

// pageOf returns up to limit folders after the given position, or all if limit is 0. next is
// the cursor of the next page, or "" if this is the last page. It needs no query of its own,
// because the read model returns all folders of a parent together.
func pageOf(all []vault.Folder, limit int, after *position) (page []vault.Folder, next string) {
	if after != nil {
		at := slices.IndexFunc(all, func(f vault.Folder) bool { return f.ID.String() == after.id })
		if at < 0 { // the folder was deleted or renamed since: continue at the position it had
			at = slices.IndexFunc(all, func(f vault.Folder) bool {
				p := positionOf(f)
				return p.name > after.name || p.name == after.name && p.id > after.id
			}) - 1
			if at == -2 {
				at = len(all) - 1
			}
		}
		all = all[at+1:]
	}
	if limit == 0 || len(all) <= limit {
		return all, ""
	}
	last := positionOf(all[limit-1])
	return all[:limit], base64.RawURLEncoding.EncodeToString([]byte(last.id + " " + last.name))
}
