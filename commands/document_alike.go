package commands

import (
	"cmp"
	"context"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/lookalike"

	"github.com/google/uuid"
)

// refuseAlike refuses the files of a new job whose names look like that of a document, or
// of another file of the job, in the same folder. Concurrent jobs may not see each other's
// names. If the read side is unavailable the files are accepted, because imports do not
// depend on read models.
func (h *Handler) refuseAlike(ctx context.Context, data []events.Data) {
	if err := h.refuseRivals(ctx, data); err != nil {
		h.Logger.WarnContext(ctx, "cannot compare the names of imported files with those of documents", "error", err)
	}
	given := make(givenNames)
	for i, d := range data {
		f, ok := d.(events.FileAccepted)
		if !ok || f.Refused != "" {
			continue
		}
		if rival := given.add(f.Folder, f.Name); rival != "" {
			data[i] = foldertree.Refuse(f, foldertree.LooksLike("file", f.Name, rival))
		}
	}
}

// refuseRivals refuses files whose names look like those of documents.
func (h *Handler) refuseRivals(ctx context.Context, data []events.Data) error {
	var folders []uuid.UUID
	var names []string
	var files []int
	for i, d := range data {
		if f, ok := d.(events.FileAccepted); ok && f.Refused == "" && f.Under != uuid.Nil && f.Rest == "" {
			folders, names, files = append(folders, f.Under), append(names, f.Name), append(files, i)
		}
	}
	if h.Names == nil || len(files) == 0 {
		return nil
	}
	alike, err := h.Names.AlikeDocuments(ctx, folders, names, uuid.Nil)
	if err != nil {
		return err
	}
	for i, rival := range alike {
		f := data[files[i]].(events.FileAccepted)
		if rival == "" {
			continue
		}
		if f.Replace { // it keeps the name of the document it replaces
			standing, err := h.Names.DocumentsNamed(ctx, f.Under, f.Name, 0)
			if err != nil {
				return err
			}
			if len(standing) > 0 {
				continue
			}
		}
		data[files[i]] = foldertree.Refuse(f, foldertree.LooksLike("document", f.Name, rival))
	}
	return nil
}

// givenNames are the names of files, by folder and look.
type givenNames map[givenName]string

type givenName struct {
	folder string
	lookalike.Rival
}

// add returns a name in the folder that looks like the given one. If none exists it adds
// the name and returns "".
func (g givenNames) add(folder, name string) (rival string) {
	for _, rival := range lookalike.Rivals(name) {
		if other := g[givenName{folder, rival}]; other != "" && other != name {
			return other
		}
	}
	key := lookalike.Key(name)
	g[givenName{folder, lookalike.Rival{Key: key}}] = name
	g[givenName{folder, lookalike.Rival{Key: key, Spaced: lookalike.Spaced(name)}}] = name
	return ""
}

// unlikeDocument returns an error if the new name or folder of a document makes its name
// look like that of another document there.
func (h *Handler) unlikeDocument(ctx context.Context, c ChangeDocument, d *document) error {
	name, folder := d.name, d.folder
	if c.Name != nil {
		name = cmp.Or(*c.Name, name)
	}
	if c.Folder != nil {
		folder = *c.Folder
	}
	if h.Names == nil || name == d.name && folder == d.folder {
		return nil
	}
	alike, err := h.Names.AlikeDocuments(ctx, []uuid.UUID{folder}, []string{name}, c.ID)
	if err != nil {
		return err
	}
	if alike[0] != "" {
		return foldertree.LooksLike("document", name, alike[0])
	}
	return nil
}
