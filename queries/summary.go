package queries

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections"

	"github.com/google/uuid"
)

// summaryEntries is the most documents, and the most subfolders, that a
// folder's summary lists.
const summaryEntries = 100

// FolderSummary describes what the folder at a path holds, composed from what
// the user may read. Its status is none where that is nothing, and unavailable
// while a job works in the folder.
func (q *Queries) FolderSummary(ctx context.Context, user events.User, path string) (FolderSummary, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return FolderSummary{}, err
	}
	_, near, rest, err := v.wholePath(ctx, path)
	if err != nil {
		return FolderSummary{}, wrap(err, "folder")
	}
	if err := q.awaitSummaries(ctx); fault.Is(err, fault.Unavailable) {
		return FolderSummary{Status: "unavailable"}, nil
	} else if err != nil {
		return FolderSummary{}, err
	}
	busy, err := q.busy(ctx, v, near, rest)
	if err != nil {
		return FolderSummary{}, wrap(err, "jobs in folder "+path)
	}
	switch {
	case busy:
		return FolderSummary{Status: "unavailable"}, nil
	case near == "" || rest != "":
		return FolderSummary{Status: "none"}, nil
	}
	folder, err := uuid.Parse(near)
	if err != nil {
		return FolderSummary{}, err
	}
	whole, _, err := v.path(ctx, near)
	if err != nil {
		return FolderSummary{}, wrap(err, "folder")
	}
	shown, err := v.shown(ctx, whole)
	if err != nil {
		return FolderSummary{}, wrap(err, "folder")
	}
	return q.summarise(ctx, v, folder, shown)
}

// awaitSummaries returns once the read model of summaries has passed all that
// the vault and the jobs held when it was called, or with an error of kind
// fault.Unavailable.
func (q *Queries) awaitSummaries(ctx context.Context) error {
	documents, err := passed(ctx, q.Models.Vault)
	if err != nil {
		return err
	}
	jobs, err := passed(ctx, q.Models.Jobs)
	if err != nil {
		return err
	}
	return q.await(ctx, q.Models.Summaries, max(documents, jobs))
}

// busyAt finds out whether a job works in the folder at a path ($2) below
// another ($1). It may have been accepted when folders on the way were still to
// be made: then it stands by the one that they are below. owner ($3) is whose
// job it must be; the empty one is anyone's. What begins as a folder's id, or as
// none of it, compares byte by byte on every engine, as the columns do.
const busyAt = `WITH RECURSIVE up (id, rest, depth) AS (
		SELECT coalesce(max(id), $1), substr(coalesce(max(id), ''), 1, 0) || $2, 0 FROM folders WHERE id = $1
		UNION ALL SELECT f.parent, CASE up.rest WHEN '' THEN f.name ELSE f.name || '/' || up.rest END, up.depth + 1
		FROM up CROSS JOIN folders f WHERE f.id = up.id AND up.depth < 100)
	SELECT EXISTS (SELECT 1 FROM up CROSS JOIN busy b WHERE b.under = up.id AND b.rest = up.rest AND b.owner <> '' AND ($3 = '' OR b.owner = $3))`

// busy reports whether a job works in the folder at a path below another:
// anyone's in a folder that the user may read, the user's own in one that is
// yet to be made.
func (q *Queries) busy(ctx context.Context, v *viewer, near, rest string) (busy bool, err error) {
	owner := string(v.user.Principal)
	if near != "" && rest == "" {
		owner = ""
	}
	err = q.Models.Summaries.DB().QueryRowContext(ctx, busyAt, near, rest, owner).Scan(&busy)
	return busy, err
}

type summaryEntry struct{ id, name, title, description string }

func (e *summaryEntry) fields() []any { return []any{&e.id, &e.name, &e.title, &e.description} }

// here drops the entries of a list that the vault does not know in a folder, so
// that a summary tells nothing of what was moved away or deleted. known selects
// the ids among many ($2, JSON) that are in the folder ($1).
func (v *viewer) here(ctx context.Context, folder string, entries []summaryEntry, known string) ([]summaryEntry, error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	b, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	there, err := projections.Column(ctx, v.db, known, folder, string(b))
	return slices.DeleteFunc(entries, func(e summaryEntry) bool { return !slices.Contains(there, e.id) }), err
}

const (
	documentsHere = `SELECT id FROM documents WHERE folder = $1 AND id IN (SELECT value FROM json_each($2))`
	foldersHere   = `SELECT id FROM folders WHERE parent = $1 AND deleted = 0 AND id IN (SELECT value FROM json_each($2))`
)

// summarise composes the summary of a folder that the user may read, under a
// path.
func (q *Queries) summarise(ctx context.Context, v *viewer, folder uuid.UUID, path string) (s FolderSummary, err error) {
	db := q.Models.Summaries.DB()
	docs, err := projections.List(ctx, db, (*summaryEntry).fields, `SELECT id, name, title, description FROM documents WHERE folder = $1 ORDER BY title, id LIMIT CAST($2 AS INTEGER)`, folder.String(), summaryEntries+1)
	if err != nil {
		return s, wrap(err, "documents of the summary")
	}
	folders, err := projections.List(ctx, db, (*summaryEntry).fields, `SELECT id, name, '', (SELECT count(*) FROM documents d WHERE d.folder = f.id) FROM folders f
		WHERE parent = $1 AND deleted = 0 ORDER BY name, id LIMIT CAST($2 AS INTEGER)`, folder.String(), summaryEntries+1)
	if err != nil {
		return s, wrap(err, "subfolders of the summary")
	}
	if docs, err = v.here(ctx, folder.String(), docs, documentsHere); err != nil {
		return s, wrap(err, "documents of the folder")
	}
	if folders, err = v.here(ctx, folder.String(), folders, foldersHere); err != nil {
		return s, wrap(err, "subfolders of the folder")
	}
	if len(docs) == 0 && len(folders) == 0 {
		return FolderSummary{Status: "none"}, nil
	}
	s = FolderSummary{
		Status: "ok", Folder: path, Document: events.SummaryID(folder), Title: "Summary of " + path,
		Truncated: len(docs) > summaryEntries || len(folders) > summaryEntries,
	}
	s.Description = describe(len(docs), len(folders), docs)
	s.Content = summaryList(docs[:min(len(docs), summaryEntries)], folders[:min(len(folders), summaryEntries)])
	return s, nil
}

// describe says in a line what a folder holds.
func describe(docs, folders int, entries []summaryEntry) string {
	var parts []string
	if docs > 0 {
		parts = append(parts, count(docs, "document"))
	}
	if folders > 0 {
		parts = append(parts, count(folders, "folder"))
	}
	text := "Holds " + strings.Join(parts, " and ")
	const named = 3
	var titles []string
	for _, e := range entries[:min(len(entries), named)] {
		titles = append(titles, e.title)
	}
	if len(titles) > 0 {
		text += ", among them " + strings.Join(titles, "; ")
	}
	return text + "."
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case n > summaryEntries:
		return fmt.Sprintf("more than %d %ss", summaryEntries, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func summaryList(docs, folders []summaryEntry) string {
	var b strings.Builder
	for _, d := range docs {
		fmt.Fprintf(&b, "- **%s**", oneLine(d.title))
		if d.name != d.title {
			fmt.Fprintf(&b, " (%s)", oneLine(d.name))
		}
		if d.description != "" {
			b.WriteString(": " + oneLine(d.description))
		}
		b.WriteByte('\n')
	}
	for _, f := range folders {
		fmt.Fprintf(&b, "- **%s/**: a folder", oneLine(f.name))
		switch f.description { // the number of its documents
		case "0":
		case "1":
			b.WriteString(" with 1 document")
		default:
			b.WriteString(" with " + f.description + " documents")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// summaryDocument returns a folder's summary as a document of its own, or
// fault.NotFound.
func (q *Queries) summaryDocument(ctx context.Context, v *viewer, id uuid.UUID) (Document, error) {
	var folder string
	err := q.Models.Summaries.DB().QueryRowContext(ctx, `SELECT id FROM folders WHERE summary = $1`, id.String()).Scan(&folder)
	if errors.Is(err, sql.ErrNoRows) {
		return Document{}, notFound("document", id)
	}
	if err != nil {
		return Document{}, wrap(err, "document")
	}
	parsed, err := uuid.Parse(folder)
	if err != nil {
		return Document{}, err
	}
	f, err := v.one(ctx, parsed)
	if fault.Is(err, fault.NotFound) {
		return Document{}, notFound("document", id)
	}
	if err == nil {
		err = q.awaitSummaries(ctx)
	}
	if err != nil {
		return Document{}, err
	}
	whole, _, err := v.path(ctx, folder)
	if err != nil {
		return Document{}, wrap(err, "folder")
	}
	shown, err := v.shown(ctx, whole)
	if err != nil {
		return Document{}, wrap(err, "folder")
	}
	s, err := q.summarise(ctx, v, parsed, shown)
	if err != nil || s.Status != "ok" {
		return Document{}, orNotFound(err, "document", id)
	}
	text := frontMatter("folder-summary", s.Title) + s.Content
	return Document{
		ID: id, Name: "summary.md", Title: s.Title, Description: s.Description, MediaType: "text/markdown", Size: int64(len(text)),
		Folder: f.ID, FolderPath: whole, FolderShown: shown, Version: 1, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, Content: &text,
	}, nil
}
