package queries

import (
	"context"
	"fmt"

	"annals/events"
	"annals/projections"

	"github.com/google/uuid"
)

// versionRow is one version of a document, as the vault's tables hold it.
type versionRow struct {
	documentRow
	change, by string
}

func (r *versionRow) fields() []any {
	return append(r.documentRow.fields(), &r.change, &r.by)
}

// versionColumns are those of documentColumns and two more; what never changes
// is taken from the document as it is now ($1).
const versionColumns = `SELECT * FROM (
		SELECT d.id, v.folder, v.name, '', v.title, v.description, v.media_type, v.sha256, v.size, v.pages, v.version, v.content, d.owner, d.created_at, v.created_at AS updated_at, v.tags, v.text_stream, v.change, v.created_by
		FROM documents d JOIN versions v ON v.document = d.id WHERE d.id = $1
		UNION ALL SELECT d.id, d.folder, d.name, '', d.title, d.description, d.media_type, d.sha256, d.size, d.pages, d.version, d.content, d.owner, d.created_at, d.updated_at, d.tags, d.text_stream, d.change, d.changed_by
		FROM documents d WHERE d.id = $1) v `

// Versions lists all versions of a document that the user may read now, the
// oldest first and the current one last.
func (q *Queries) Versions(ctx context.Context, user events.User, document uuid.UUID) ([]Version, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	if _, err := v.filed(ctx, document); err != nil {
		return nil, err
	}
	rows, err := projections.List(ctx, v.db, (*versionRow).fields, versionColumns+`ORDER BY version`, document.String())
	if err != nil {
		return nil, wrap(err, "versions of document "+document.String())
	}
	versions := make([]Version, 0, len(rows))
	for _, r := range rows {
		versions = append(versions, Version{Version: r.Version, CreatedAt: parseTime(r.updated), CreatedBy: events.Principal(r.by), Change: r.change})
	}
	return versions, nil
}

// DocumentVersion returns a document that the user may read now as it was at a
// version; with content, a text document's Markdown too. SHA256 and MediaType
// name the original of that version. The folder that it was in then is told
// where the user may read it now. A version that never was is fault.NotFound.
func (q *Queries) DocumentVersion(ctx context.Context, user events.User, document uuid.UUID, version int, content bool) (Document, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return Document{}, err
	}
	if _, err := v.filed(ctx, document); err != nil {
		return Document{}, err
	}
	rows, err := projections.List(ctx, v.db, (*versionRow).fields, versionColumns+`WHERE version = $2`, document.String(), version)
	if err != nil || len(rows) == 0 {
		return Document{}, orNotFound(err, fmt.Sprintf("version %d of document", version), document)
	}
	d, err := v.document(ctx, rows[0].documentRow)
	if err != nil {
		return Document{}, wrap(err, "document")
	}
	if ok, err := v.may(ctx, rows[0].folder); !ok || err != nil {
		d.Folder, d.FolderPath, d.FolderShown = uuid.Nil, "", ""
		if err != nil {
			return Document{}, wrap(err, "folder")
		}
	}
	if !content || !d.lacksContent() {
		return d, nil
	}
	if err := q.awaitText(ctx, d); err != nil {
		return Document{}, err
	}
	whole := fmt.Sprintf("/documents/%s/versions/%d/content", document, version)
	err = q.addContent(ctx, &d, maxContent, whole)
	return d, err
}
