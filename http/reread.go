package http

import (
	"net/http"
	"slices"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/events/fault"
	"annals/events/originals"
	"annals/http/form"
	"annals/http/ingest"
	"annals/http/problem"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// rereading is the reply to POST /documents/reread.
type rereading struct {
	Job        *job           `json:"job"`
	Documents  []documentItem `json:"documents"`
	NextCursor *string        `json:"nextCursor"`
}

// rereadDocuments handles POST /documents/reread. It starts a job that reads the originals of
// documents again: either those with the ids in the body, or a page of those that match the
// filters in the body.
func (s *Server) rereadDocuments(c *call) (any, error) {
	ids, filter, dry, err := s.rereadFields(c)
	if err != nil {
		return nil, err
	}
	out := rereading{Documents: []documentItem{}}
	found := ids == nil
	if found {
		if err := s.begin(c, 0); err != nil {
			return nil, err
		}
		docs, next, err := s.Queries.DocumentsToReread(c.Context(), c.user, filter)
		if err != nil {
			return nil, err
		}
		out.NextCursor = orNull(next)
		if dry || len(docs) == 0 {
			out.Documents = each(docs, documentItemBody)
			return out, nil
		}
		if filter.Unread && s.Unrecognised != "" && slices.ContainsFunc(docs, func(d vault.Document) bool { return d.UnreadPages > 0 }) {
			return nil, fault.Errorf(fault.Invalid, "scanned pages would stay unread, because this server does not recognise text in pictures: %s", s.Unrecognised)
		}
		ids = each(docs, func(d vault.Document) uuid.UUID { return d.ID })
	}
	started, documents, err := s.Commands.StartReread(c.Context(), c.user, Correlation(c.Context()), commands.RereadDocuments{IDs: ids, Skip: found})
	if err != nil || documents == 0 {
		return out, err
	}
	now, known := s.jobNow(c, started, documents)
	out.Job = &now
	if !known {
		return withStatus(problem.Vault, http.StatusAccepted, out), nil
	}
	return out, nil
}

// restorable is the reply to POST /documents/{id}/restore with dryRun.
type restorable struct {
	Name       string     `json:"name"`
	FolderID   uuid.UUID  `json:"folderId"`
	DeletedAt  moment     `json:"deletedAt"`
	KeptUntil  moment     `json:"keptUntil"`
	RestoredAs *uuid.UUID `json:"restoredAs"`
}

// restoreDocument handles POST /documents/{id}/restore. It starts a job that imports the
// original of a deleted document again.
func (s *Server) restoreDocument(c *call, id uuid.UUID) (any, error) {
	f := form.NewQuery(c.Request)
	dry := f.IsTrue("dryRun")
	if err := f.Err(); err != nil {
		return nil, err
	}
	if dry {
		d, err := ingest.Restorable(c.Context(), s.Commands, s.Originals, c.user, id)
		return restorable{d.Name, d.Folder, moment(d.At), moment(d.At.Add(originals.KeptDeleted)), parentOrNull(d.Restored)}, err
	}
	started, err := ingest.Restore(c.Context(), s.Commands, s.Originals, c.user, Correlation(c.Context()), id)
	if err != nil {
		return nil, err
	}
	now, _ := s.jobNow(c, started, 1)
	return s.revising(started, now), nil
}

// rereadFields reads the body of a POST /documents/reread. ids is nil if documents are chosen
// by the filter.
func (s *Server) rereadFields(c *call) (ids []uuid.UUID, filter vault.RereadFilter, dry bool, err error) {
	f, err := form.ReadFields(c.Request, s.Limits.JSONBytes)
	if err != nil {
		return nil, filter, false, err
	}
	filter = vault.RereadFilter{Folder: f.OptionalID("folderId", false), Unread: f.OptionalBool("scanned"), Limit: commands.MaxReread}
	if f.OptionalBool("outdated") {
		filter.Before = extract.Version
	}
	dry = f.OptionalBool("dryRun")
	if cursor := f.OptionalText("cursor"); cursor != nil {
		filter.Cursor = *cursor
	}
	filtered := filter.Folder != nil || filter.Unread || filter.Before > 0
	_, named := f.Get("ids")
	switch {
	case named && (filtered || dry || filter.Cursor != ""):
		f.Refuse("ids should not be given with other fields")
	case named:
		for _, v := range f.List("ids", 1, commands.MaxReread) {
			text, _ := v.(string)
			id, ok := form.ParseID(text)
			if !ok {
				f.Refuse("each value in ids must be a UUID")
				break
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	case !filtered:
		f.Refuse("ids, folderId, scanned or outdated should be given")
	}
	return ids, filter, dry, f.Err()
}
