package vault

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"annals/events"
	"annals/projections"
	"annals/queries/access"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Version is one version of a document.
type Version struct {
	Version   int
	CreatedAt time.Time
	CreatedBy events.Principal
	Change    string    // imported, renamed, moved, tagged, revised or reread; or several, separated by commas
	Folder    uuid.UUID // uuid.Nil if the user may not read that folder now
	Name      string    // the file's name
	MediaType string
	Size      int64
	SHA256    string
	Tags      []string
}

// versionRow is one version of a document as stored in the vault's tables.
type versionRow struct {
	documentRow
	change, by string
}

func (r *versionRow) fields() []any {
	return append(r.documentRow.fields(), &r.change, &r.by)
}

// versionColumns selects the columns of documentColumns and two more for each version of
// the document $1. Properties that never change are read from the current document.
const versionColumns = `SELECT * FROM (
		SELECT d.id, v.folder, v.name, '', v.title, v.description, v.media_type, v.sha256, v.size, v.pages, v.version, v.content, d.owner, d.created_at, v.created_at AS updated_at, v.tags, v.text_stream, v.ocr_pages, v.confidence, v.unread, v.extractor, v.change, v.created_by
		FROM documents d JOIN versions v ON v.document = d.id WHERE d.id = $1
		UNION ALL SELECT d.id, d.folder, d.name, '', d.title, d.description, d.media_type, d.sha256, d.size, d.pages, d.version, d.content, d.owner, d.created_at, d.updated_at, d.tags, d.text_stream, d.ocr_pages, d.confidence, d.unread, d.extractor, d.change, d.changed_by
		FROM documents d WHERE d.id = $1) v `

// Versions lists all versions of a document that the user may read now, the
// oldest first and the current one last.
func (q *Vault) Versions(ctx context.Context, user events.User, document uuid.UUID) ([]Version, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	if _, err := Imported(ctx, v.Viewer, document); err != nil {
		return nil, err
	}
	rows, err := projections.List(ctx, v.DB, (*versionRow).fields, versionColumns+`ORDER BY version`, document.String())
	if err != nil {
		return nil, freshness.Wrap(err, "versions of document "+document.String())
	}
	folders := make([]string, len(rows))
	for i, r := range rows {
		folders[i] = r.folder
	}
	if err := v.Load(ctx, folders); err != nil {
		return nil, freshness.Wrap(err, "folders of document "+document.String())
	}
	versions := make([]Version, 0, len(rows))
	for _, r := range rows {
		one, err := v.version(ctx, r)
		if err != nil {
			return nil, freshness.Wrap(err, "versions of document "+document.String())
		}
		versions = append(versions, one)
	}
	return versions, nil
}

// version converts a row to a Version.
func (v *viewer) version(ctx context.Context, r versionRow) (Version, error) {
	out := Version{
		Version: r.Version, CreatedAt: parseTime(r.updated), CreatedBy: events.Principal(r.by), Change: r.change,
		Name: r.Name, MediaType: r.MediaType, Size: r.Size, SHA256: r.SHA256,
	}
	if err := json.Unmarshal([]byte(r.tags), &out.Tags); err != nil {
		return out, err
	}
	ok, err := v.MayRead(ctx, r.folder)
	if ok && err == nil {
		out.Folder, err = uuid.Parse(r.folder)
	}
	return out, err
}

// VersionMarkdown is like Markdown, for the text of a version.
func (q *Vault) VersionMarkdown(ctx context.Context, user events.User, document uuid.UUID, version int) (d Document, write func(io.Writer) error, err error) {
	if d, err = q.DocumentVersion(ctx, user, document, version, false); err == nil {
		write, err = q.markdownOf(ctx, d)
	}
	return d, write, err
}

// DocumentVersion returns a document as of a version. The user must be able to read the
// document now. If content is true it includes a text document's Markdown. SHA256 and
// MediaType describe the original of that version. The folder is that of the version, if
// the user may read that folder now. The error is fault.NotFound if the version does not
// exist.
func (q *Vault) DocumentVersion(ctx context.Context, user events.User, document uuid.UUID, version int, content bool) (Document, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return Document{}, err
	}
	if _, err := Imported(ctx, v.Viewer, document); err != nil {
		return Document{}, err
	}
	rows, err := projections.List(ctx, v.DB, (*versionRow).fields, versionColumns+`WHERE version = $2`, document.String(), version)
	if err != nil || len(rows) == 0 {
		return Document{}, access.OrNotFound(err, fmt.Sprintf("version %d of document", version), document)
	}
	d, err := v.document(ctx, rows[0].documentRow)
	if err != nil {
		return Document{}, freshness.Wrap(err, "document")
	}
	if ok, err := v.MayRead(ctx, rows[0].folder); !ok || err != nil {
		d.Folder, d.FolderPath, d.FolderShown = uuid.Nil, "", ""
		if err != nil {
			return Document{}, freshness.Wrap(err, "folder")
		}
	}
	if !content || !d.lacksContent() {
		return d, nil
	}
	if err := q.awaitText(ctx, d); err != nil {
		return Document{}, err
	}
	whole := fmt.Sprintf("/documents/%s/versions/%d/markdown", document, version)
	err = q.addContent(ctx, &d, maxContent, whole)
	return d, err
}
