package http

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"annals/commands"
	"annals/queries"

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

func folderBody(f queries.Folder) folder {
	return folder{f.ID, f.Name, parentOrNull(f.Parent), f.DocFolder, moment(f.CreatedAt), moment(f.UpdatedAt)}
}

func parentOrNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// folders answers GET /folders.
func (s *Server) folders(c *call) (any, error) {
	f := newFilter(c.Request)
	parent, path, limit, after := f.id("parentFolderId"), f.text("path"), f.limit(s.Limits.PageSize), f.cursor()
	if parent != nil && path != "" {
		f.wrong = append(f.wrong, "path and parentFolderId must not be given together")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	var all []queries.Folder
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

// folderAt returns the one folder at a path, or none.
func (s *Server) folderAt(c *call, path string) ([]queries.Folder, error) {
	f, found, err := s.Queries.FolderAt(c.Context(), c.user, path)
	if err != nil || !found {
		return nil, err
	}
	return []queries.Folder{f}, nil
}

// folder answers GET /folders/{id}.
func (s *Server) folder(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	f := newFilter(c.Request)
	include := f.isTrue("include")
	if err := f.err(); err != nil {
		return nil, err
	}
	if !include {
		return s.showFolder(c.Context(), c, http.StatusOK, id)
	}
	d, err := s.Queries.FolderDetail(c.Context(), c.user, id)
	return folderDetail{
		folder:          folderBody(d.Folder),
		Ancestors:       each(d.Ancestors, func(a queries.Folder) named { return named{a.ID, a.Name} }),
		Documents:       each(d.Documents, documentItemBody),
		Subfolders:      each(d.Subfolders, func(b queries.Folder) subfolder { return subfolder{named{b.ID, b.Name}, b.DocFolder} }),
		ParentDocuments: each(d.ParentDocuments, documentItemBody),
	}, err
}

// showFolder answers with a folder as it is now.
func (s *Server) showFolder(ctx context.Context, c *call, status int, id uuid.UUID) (reply, error) {
	f, err := s.Queries.Folder(ctx, c.user, id)
	return vaultDialect.tagged(status, folderTag(f.Version), folderBody(f)), err
}

// createFolder answers POST /folders.
func (s *Server) createFolder(c *call) (any, error) {
	f, err := s.readFields(c)
	if err != nil {
		return nil, err
	}
	create := commands.CreateFolder{Name: f.text("name")}
	if parent := f.optionalID("parentFolderId", true); parent != nil {
		create.Parent = *parent
		c.named = append(c.named, "folder-"+parent.String())
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	id, at, err := s.Commands.CreateFolder(c.Context(), c.user, Correlation(c.Context()), create)
	if err != nil {
		return nil, err
	}
	answer := s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showFolder(ctx, c, http.StatusCreated, id) })
	return located(s.VaultURL.JoinPath("folders", id.String()).String(), answer), nil
}

// changeFolder answers PATCH /folders/{id}.
func (s *Server) changeFolder(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	f, err := s.readFields(c)
	if err != nil {
		return nil, err
	}
	change := commands.ChangeFolder{ID: id, Name: f.optionalText("name"), Parent: f.optionalID("parentFolderId", true)}
	if change.Name == nil && change.Parent == nil {
		f.refuse("name or parentFolderId should be given")
	}
	change.Version = c.versionForFolder(f.wrong)
	if err := f.err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.ChangeFolder(c.Context(), c.user, Correlation(c.Context()), change)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showFolder(ctx, c, http.StatusOK, id) }), nil
}

// deleteFolder answers DELETE /folders/{id}.
func (s *Server) deleteFolder(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	f := newFilter(c.Request)
	remove := commands.DeleteFolder{ID: id, Recursive: f.boolean("recursive"), Version: c.versionForFolder(&f.wrong)}
	if err := f.err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.DeleteFolder(c.Context(), c.user, Correlation(c.Context()), remove)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// each returns what f makes of every entry, never nil.
func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}

// mark is the place of a folder in a listing, by name and then by id.
type mark struct{ name, id string }

func markOf(f queries.Folder) mark { return mark{strings.ToLower(f.Name), f.ID.String()} }

// cursor returns where the page of folders before this one ended.
func (f *filter) cursor() *mark {
	text, given := f.one("cursor", "cursor must be a string")
	if !given {
		return nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	id, name, ok := strings.Cut(string(plain), " ")
	if _, isID := parseID(id); err != nil || !ok || !isID {
		f.wrong = append(f.wrong, "cursor must be one that a Link header gave")
	}
	return &mark{name, id}
}

// pageOf returns the folders behind a mark, at most limit unless it is 0, and
// the cursor of the next page, "" at the end. A listing has as many folders
// as one folder holds, so it is cut here and not in the read model.
func pageOf(all []queries.Folder, limit int, after *mark) (page []queries.Folder, next string) {
	if after != nil {
		at := slices.IndexFunc(all, func(f queries.Folder) bool { return f.ID.String() == after.id })
		if at < 0 { // deleted since, or renamed away: go on where it stood
			at = slices.IndexFunc(all, func(f queries.Folder) bool {
				m := markOf(f)
				return m.name > after.name || m.name == after.name && m.id > after.id
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
	last := markOf(all[limit-1])
	return all[:limit], base64.RawURLEncoding.EncodeToString([]byte(last.id + " " + last.name))
}
