package http

import (
	"annals/http/form"
	"annals/queries/audit"

	"github.com/google/uuid"
)

type auditEntry struct {
	ID            uuid.UUID  `json:"id"`
	Time          moment     `json:"time"`
	Actor         *string    `json:"actor"`
	Via           *string    `json:"via"`
	CorrelationID *string    `json:"correlationId"`
	Type          string     `json:"type"`
	What          string     `json:"what"`
	DocumentID    *uuid.UUID `json:"documentId"`
	DocumentName  *string    `json:"documentName"`
	FolderID      *uuid.UUID `json:"folderId"`
	FolderName    *string    `json:"folderName"`
	JobID         *uuid.UUID `json:"jobId"`
	Address       string     `json:"address,omitempty"`
	Count         int        `json:"count,omitempty"`
}

func auditBody(e audit.Entry) auditEntry {
	return auditEntry{
		e.ID, moment(e.Time), orNull(string(e.Actor)), orNull(e.Via), orNull(e.Correlation), e.Type, e.What,
		parentOrNull(e.Document), orNull(e.Name), parentOrNull(e.Folder), orNull(e.FolderName), parentOrNull(e.Job),
		e.Address, e.Count,
	}
}

// audit handles GET /audit.
func (s *Server) audit(c *call) (any, error) {
	f := form.NewQuery(c.Request)
	q := audit.Filter{
		Document: f.ID("document"), Folder: f.ID("folder"), Actor: f.User("actor"),
		From: f.Time("from"), To: f.Time("to"), Limit: f.Limit(s.Limits.PageSize), Cursor: f.Text("cursor"),
		Kind: auditKind(f),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	entries, next, err := s.Queries.Audit(c.Context(), c.user, q)
	if err != nil {
		return nil, err
	}
	return s.listing(c, each(entries, auditBody), next), nil
}

// auditKind returns the query parameter kind, which selects the entries of the audit trail.
func auditKind(f *form.Query) audit.Kind {
	kind := audit.Kind(f.Text("kind"))
	if kind != "" && kind != audit.Changes && kind != audit.Access && kind != audit.Everything {
		f.Wrong = append(f.Wrong, "kind must be one of the following values: changes, access, all")
	}
	return kind
}
