package commands

import (
	"cmp"
	"context"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/lookalike"

	"github.com/google/uuid"
)

// refuseAlike refuses those files of a new job whose names look like that of a document, or
// of another file of the job, in the same folder. Two concurrent jobs may miss each other's
// names. If the read models are unavailable, only the names within the job are compared,
// because imports must not depend on read models.
func (h *Handler) refuseAlike(ctx context.Context, data []events.Data) {
	if err := h.refuseAlikeDocuments(ctx, data); err != nil {
		h.Logger.WarnContext(ctx, "cannot check whether names of imported files look like those of documents", "error", err)
	}
	taken := make(takenNames)
	for i, d := range data {
		f, ok := d.(events.FileAccepted)
		if !ok || f.Refused != "" {
			continue
		}
		if rival := taken.add(f.Folder, f.Name); rival != "" {
			data[i] = foldertree.Refuse(f, foldertree.LooksLike("file", f.Name, rival))
		}
	}
}

// refuseAlikeDocuments refuses files whose names look like those of documents.
func (h *Handler) refuseAlikeDocuments(ctx context.Context, data []events.Data) error {
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
		if f.Replace { // the replaced document has this name, too
			replaced, err := h.Names.DocumentsNamed(ctx, f.Under, f.Name, 0)
			if err != nil {
				return err
			}
			if len(replaced) > 0 {
				continue
			}
		}
		data[files[i]] = foldertree.Refuse(f, foldertree.LooksLike("document", f.Name, rival))
	}
	return nil
}

// takenNames are the names of files, by folder and appearance.
type takenNames map[takenName]string

type takenName struct {
	folder string
	lookalike.Rival
}

// add returns a taken name in the folder that looks like the given one. If there is none it
// adds the given name and returns "".
func (n takenNames) add(folder, name string) (rival string) {
	for _, rival := range lookalike.Rivals(name) {
		if other := n[takenName{folder, rival}]; other != "" && other != name {
			return other
		}
	}
	key := lookalike.Key(name)
	n[takenName{folder, lookalike.Rival{Key: key}}] = name
	n[takenName{folder, lookalike.Rival{Key: key, Spaced: lookalike.Spaced(name)}}] = name
	return ""
}

// checkAlike returns an error if a change of name or folder makes a document's name look
// like that of another document in the folder.
func (h *Handler) checkAlike(ctx context.Context, c ChangeDocument, d *document) error {
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
