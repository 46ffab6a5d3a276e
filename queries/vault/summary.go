package vault

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
	"annals/queries/access"
	"annals/queries/describe"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// FolderSummary describes the contents of a folder.
type FolderSummary struct {
	Status      string // ok, none or unavailable
	Folder      string // path, as shown to the user
	Document    uuid.UUID
	Title       string
	Description string
	Content     string // Markdown list
	Truncated   bool
}

// summaryEntries is the maximum number of documents, and of subfolders, in a folder's
// summary.
const summaryEntries = 100

// FolderSummary describes the contents of the folder at a path, as far as the user may
// read them. The status is "none" if the user may read nothing in the folder, and
// "unavailable" while a job imports into the folder.
func (q *Vault) FolderSummary(ctx context.Context, user events.User, path string) (FolderSummary, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return FolderSummary{}, err
	}
	_, near, rest, err := v.Whole(ctx, path)
	if err != nil {
		return FolderSummary{}, freshness.Wrap(err, "folder")
	}
	if err := q.awaitSummaries(ctx); fault.Is(err, fault.Unavailable) {
		return FolderSummary{Status: "unavailable"}, nil
	} else if err != nil {
		return FolderSummary{}, err
	}
	busy, err := q.busy(ctx, v, near, rest)
	if err != nil {
		return FolderSummary{}, freshness.Wrap(err, "jobs in folder "+path)
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
	whole, _, err := v.Path(ctx, near)
	if err != nil {
		return FolderSummary{}, freshness.Wrap(err, "folder")
	}
	shown, err := v.Shown(ctx, whole)
	if err != nil {
		return FolderSummary{}, freshness.Wrap(err, "folder")
	}
	return q.summarise(ctx, v, folder, shown)
}

// awaitSummaries waits until the read model of summaries has passed the current
// positions of the vault and the jobs. The error is of kind fault.Unavailable if that
// takes too long.
func (q *Vault) awaitSummaries(ctx context.Context) error {
	documents, err := freshness.Passed(ctx, q.Models.Vault)
	if err != nil {
		return err
	}
	jobs, err := freshness.Passed(ctx, q.Models.Jobs)
	if err != nil {
		return err
	}
	return q.Models.Await(ctx, q.Models.Summaries, max(documents, jobs))
}

// busyAt reports whether a job imports into the folder at a path ($2) below another
// folder ($1). If the job was accepted before folders on the path were created, it is
// recorded with the deepest folder that existed. $3 restricts the query to the jobs of
// one user; empty means all. The expression substr(id, 1, 0) is empty; it gives the path
// the collation of column id, which compares byte by byte.
const busyAt = `WITH RECURSIVE up (id, rest, depth) AS (
		SELECT coalesce(max(id), $1), substr(coalesce(max(id), ''), 1, 0) || $2, 0 FROM folders WHERE id = $1
		UNION ALL SELECT f.parent, CASE up.rest WHEN '' THEN f.name ELSE f.name || '/' || up.rest END, up.depth + 1
		FROM up CROSS JOIN folders f WHERE f.id = up.id AND up.depth < 100)
	SELECT EXISTS (SELECT 1 FROM up CROSS JOIN busy b WHERE b.under = up.id AND b.rest = up.rest AND b.owner <> '' AND ($3 = '' OR b.owner = $3))`

// busy reports whether a job imports into the folder at a path below another folder: any
// job if the user may read the folder, only the user's own jobs if the folder does not
// exist yet.
func (q *Vault) busy(ctx context.Context, v *viewer, near, rest string) (busy bool, err error) {
	owner := string(v.User.Principal)
	if near != "" && rest == "" {
		owner = ""
	}
	err = q.Models.Summaries.DB().QueryRowContext(ctx, busyAt, near, rest, owner).Scan(&busy)
	return busy, err
}

type summaryEntry struct{ id, name, title, description string }

func (e *summaryEntry) fields() []any { return []any{&e.id, &e.name, &e.title, &e.description} }

// present removes entries that the vault does not list in the folder, because a summary
// must not show what was moved out or deleted. query selects from the ids $2 (JSON)
// those that are in the folder $1.
func (v *viewer) present(ctx context.Context, folder string, entries []summaryEntry, query string) ([]summaryEntry, error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	b, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	there, err := projections.Column(ctx, v.DB, query, folder, string(b))
	return slices.DeleteFunc(entries, func(e summaryEntry) bool { return !slices.Contains(there, e.id) }), err
}

const (
	documentsHere = `SELECT id FROM documents WHERE folder = $1 AND id IN (SELECT value FROM json_each($2))`
	foldersHere   = `SELECT id FROM folders WHERE parent = $1 AND deleted = 0 AND id IN (SELECT value FROM json_each($2))`
)

// summarise composes the summary of a folder that the user may read. path is the folder's
// path as shown to the user.
func (q *Vault) summarise(ctx context.Context, v *viewer, folder uuid.UUID, path string) (s FolderSummary, err error) {
	db := q.Models.Summaries.DB()
	docs, err := projections.List(ctx, db, (*summaryEntry).fields, `SELECT id, name, title, description FROM documents WHERE folder = $1 ORDER BY title, id LIMIT CAST($2 AS INTEGER)`, folder.String(), summaryEntries+1)
	if err != nil {
		return s, freshness.Wrap(err, "documents of the summary")
	}
	folders, err := projections.List(ctx, db, (*summaryEntry).fields, `SELECT id, name, '', (SELECT count(*) FROM documents d WHERE d.folder = f.id) FROM folders f
		WHERE parent = $1 AND deleted = 0 ORDER BY name, id LIMIT CAST($2 AS INTEGER)`, folder.String(), summaryEntries+1)
	if err != nil {
		return s, freshness.Wrap(err, "subfolders of the summary")
	}
	if docs, err = v.present(ctx, folder.String(), docs, documentsHere); err != nil {
		return s, freshness.Wrap(err, "documents of the folder")
	}
	if folders, err = v.present(ctx, folder.String(), folders, foldersHere); err != nil {
		return s, freshness.Wrap(err, "subfolders of the folder")
	}
	if len(docs) == 0 && len(folders) == 0 {
		return FolderSummary{Status: "none"}, nil
	}
	s = FolderSummary{
		Status: "ok", Folder: path, Document: events.SummaryID(folder), Title: "Summary of " + path,
		Truncated: len(docs) > summaryEntries || len(folders) > summaryEntries,
	}
	if err := q.redescribe(ctx, v, docs[:min(len(docs), summaryEntries)]); err != nil {
		return s, freshness.Wrap(err, "descriptions of documents")
	}
	s.Description = contents(len(docs), len(folders), docs)
	s.Content = summaryList(docs[:min(len(docs), summaryEntries)], folders[:min(len(folders), summaryEntries)])
	return s, nil
}

// redescribe replaces the descriptions of documents by those that a language model made, if there are any.
func (q *Vault) redescribe(ctx context.Context, v *viewer, entries []summaryEntry) error {
	if q.Describer == nil {
		return nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	docs, err := ByID(ctx, v.Viewer, ids)
	if err != nil {
		return err
	}
	var all []describe.Document
	for _, e := range entries { // in the order of the summary
		if d, ok := docs[e.id]; ok {
			all = append(all, describe.Document{ID: d.ID, Content: describe.Content(d.SHA256, d.Extractor, d.OCRPages, d.UnreadPages)})
		}
	}
	made := q.Describer.Of(ctx, v.User, all)
	for i, e := range entries {
		if d, ok := docs[e.id]; ok && made[d.ID] != "" {
			entries[i].description = made[d.ID]
		}
	}
	return nil
}

// contents returns one line about the contents of a folder.
func contents(docs, folders int, entries []summaryEntry) string {
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
		switch f.description { // holds the number of documents in the subfolder
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

// summaryDocument returns a folder's summary as a document, or fault.NotFound.
func (q *Vault) summaryDocument(ctx context.Context, v *viewer, id uuid.UUID) (Document, error) {
	// A stopped read model of summaries lacks new folders, so their summaries would not
	// be found.
	if err := q.Models.Usable(ctx, q.Models.Summaries); err != nil {
		return Document{}, err
	}
	var folder string
	err := q.Models.Summaries.DB().QueryRowContext(ctx, `SELECT id FROM folders WHERE summary = $1`, id.String()).Scan(&folder)
	if errors.Is(err, sql.ErrNoRows) {
		return Document{}, access.NotFound("document", id)
	}
	if err != nil {
		return Document{}, freshness.Wrap(err, "document")
	}
	parsed, err := uuid.Parse(folder)
	if err != nil {
		return Document{}, err
	}
	f, err := v.one(ctx, parsed)
	if fault.Is(err, fault.NotFound) {
		return Document{}, access.NotFound("document", id)
	}
	if err == nil {
		err = q.awaitSummaries(ctx)
	}
	if err != nil {
		return Document{}, err
	}
	whole, _, err := v.Path(ctx, folder)
	if err != nil {
		return Document{}, freshness.Wrap(err, "folder")
	}
	shown, err := v.Shown(ctx, whole)
	if err != nil {
		return Document{}, freshness.Wrap(err, "folder")
	}
	s, err := q.summarise(ctx, v, parsed, shown)
	if err != nil || s.Status != "ok" {
		return Document{}, access.OrNotFound(err, "document", id)
	}
	text := frontMatter("folder-summary", s.Title, "") + s.Content
	return Document{
		ID: id, Name: "summary.md", Title: s.Title, Description: s.Description, MediaType: "text/markdown", Size: int64(len(text)),
		Folder: f.ID, FolderPath: whole, FolderShown: shown, Version: 1, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, Content: &text,
	}, nil
}
