package http

import (
	"time"

	"annals/events"
	"annals/queries"

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

func auditBody(e queries.AuditEntry) auditEntry {
	return auditEntry{
		e.ID, moment(e.Time), orNull(string(e.Actor)), orNull(e.Via), orNull(e.Correlation), e.Type, e.What,
		parentOrNull(e.Document), orNull(e.Name), parentOrNull(e.Folder), orNull(e.FolderName), parentOrNull(e.Job),
		e.Address, e.Count,
	}
}

// audit answers GET /audit.
func (s *Server) audit(c *call) (any, error) {
	f := newFilter(c.Request)
	q := queries.AuditFilter{
		Document: f.id("document"), Folder: f.id("folder"), Actor: f.user("actor"),
		From: f.time("from"), To: f.time("to"), Limit: f.limit(s.Limits.PageSize), Cursor: f.text("cursor"),
		Kind: f.auditKind(),
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	entries, next, err := s.Queries.Audit(c.Context(), c.user, q)
	if err != nil {
		return nil, err
	}
	return s.listing(c, each(entries, auditBody), next), nil
}

// auditKind returns which entries of the trail are asked for.
func (f *filter) auditKind() queries.AuditKind {
	kind := queries.AuditKind(f.text("kind"))
	if kind != "" && kind != queries.Changes && kind != queries.Access && kind != queries.Everything {
		f.wrong = append(f.wrong, "kind must be one of the following values: changes, access, all")
	}
	return kind
}

// user returns an optional principal that names a person, as whom alone things
// are done.
func (f *filter) user(name string) events.Principal {
	p := events.Principal(f.text(name))
	if p != "" && !p.IsUser() {
		f.wrong = append(f.wrong, name+" must be the principal of a user, such as user:alice")
	}
	return p
}

// time returns an optional time, or a date, which stands for its beginning; in
// UTC where it names no zone. It is the zero time where it is not there.
func (f *filter) time(name string) time.Time {
	fault := name + " must be a valid ISO 8601 date string"
	text, given := f.one(name, fault)
	if !given {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	f.wrong = append(f.wrong, fault)
	return time.Time{}
}
