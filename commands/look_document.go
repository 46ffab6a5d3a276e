package commands

import (
	"cmp"
	"context"

	"annals/events"
	"annals/events/lookalike"

	"github.com/google/uuid"
)

// refuseAlike refuses those files of a new job whose names would be taken for
// that of a document, or of another file of the job, in the same folder. Of two
// jobs at the same moment neither may see the other's names. Where the read side
// cannot be asked the files are accepted all the same: an import waits for no
// read model.
func (h *Handler) refuseAlike(ctx context.Context, data []events.Data) {
	if err := h.refuseRivals(ctx, data); err != nil {
		h.Logger.WarnContext(ctx, "the names of imported files are not compared with those of documents", "error", err)
	}
	given := make(givenNames)
	for i, d := range data {
		f, ok := d.(events.FileAccepted)
		if !ok || f.Refused != "" {
			continue
		}
		if rival := given.add(f.Folder, f.Name); rival != "" {
			data[i] = refuse(f, looksLike("file", f.Name, rival))
		}
	}
}

// refuseRivals is refuseAlike for the names of documents.
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
		if f.Replace { // a document that has its name already keeps it
			standing, err := h.Names.DocumentsNamed(ctx, f.Under, f.Name, 0)
			if err != nil {
				return err
			}
			if len(standing) > 0 {
				continue
			}
		}
		data[files[i]] = refuse(f, looksLike("document", f.Name, rival))
	}
	return nil
}

// givenNames are names of files, by folder and what they may be found by.
type givenNames map[givenName]string

type givenName struct {
	folder string
	lookalike.Rival
}

// add returns one of the names in a folder that a name would be taken for; where
// there is none it adds that.
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

// unlikeDocument returns an error where a change gives a document a name, or a
// folder, by which it would be taken for another one.
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
		return looksLike("document", name, alike[0])
	}
	return nil
}
