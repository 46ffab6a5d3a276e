package queries

import (
	"context"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/generation"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Usage is what counts against a user's quota: everything that the user uploaded or
// created, in any folder.
type Usage struct {
	Bytes     int64 // of originals and their stored text, in all versions of documents
	Documents int64
	Folders   int64
	Shares    int64 // entries in permission lists

	Imports         int64 // files in progress
	ImportBytes     int64 // of files in progress
	ImportDocuments int64 // expected new documents
	ImportFolders   int64 // folders that may have to be created for files in progress

	// Failed files and deleted documents count until their originals are deleted.
	FailedBytes  int64 // of files that could not be imported
	DeletedBytes int64 // of deleted documents, with their text
}

// AllBytes returns the bytes that count against the user's quota.
func (u Usage) AllBytes() int64 { return u.Bytes + u.ImportBytes + u.FailedBytes + u.DeletedBytes }

// sweptAfter is the maximum time for which originals of failed files and deleted documents
// are kept: a day, plus the time until the next sweep.
const sweptAfter = 30 * time.Hour

// usable returns an error if the read model of usage cannot be read.
func (q *Queries) usable(ctx context.Context) error {
	if err := q.Models.Usage.Err(); err != nil {
		return fault.Hide(fault.Unavailable, "your usage cannot be read at the moment, and limits depend on it: try again later", err)
	}
	return q.Models.Usable(ctx, q.Models.Usage)
}

// UsedBy returns a user's usage without folders and shares, as of the log position at.
func (q *Queries) UsedBy(ctx context.Context, user events.Principal) (u Usage, at events.Position, err error) {
	if err := q.usable(ctx); err != nil {
		return u, 0, err
	}
	return usedBy(ctx, q.Models.Usage.DB(), user)
}

func usedBy(ctx context.Context, from generation.Reader, user events.Principal) (u Usage, at events.Position, err error) {
	// One statement, so that all numbers are as of the same position.
	err = from.QueryRowContext(ctx, `SELECT c.position, coalesce(u.bytes, 0), coalesce(u.documents, 0),
			coalesce(u.work_files, 0), coalesce(u.work_bytes, 0), coalesce(u.work_documents, 0), coalesce(u.work_folders, 0), coalesce(x.failed, 0), coalesce(x.deleted, 0)
		FROM checkpoint c LEFT JOIN users u ON u.principal = $1
		LEFT JOIN (SELECT sum(failed) AS failed, sum(deleted) AS deleted FROM unswept WHERE owner = $1 AND hour > $2) x ON true`,
		string(user), time.Now().Add(-sweptAfter).UTC().Format("2006-01-02T15")).
		Scan(&at, &u.Bytes, &u.Documents, &u.Imports, &u.ImportBytes, &u.ImportDocuments, &u.ImportFolders, &u.FailedBytes, &u.DeletedBytes)
	return u, at, freshness.Wrap(err, "usage of "+string(user))
}

// Usage returns a user's complete usage.
func (q *Queries) Usage(ctx context.Context, user events.Principal) (Usage, error) {
	u, _, err := q.UsedBy(ctx, user)
	if err != nil {
		return u, err
	}
	return u, created(ctx, q.Models.Usage.DB(), user, &u)
}

// created adds the folders and shares that the user created to u.
func created(ctx context.Context, from generation.Reader, user events.Principal, u *Usage) error {
	err := from.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM folders WHERE maker = $1 AND deleted = 0), (SELECT count(*) FROM shares WHERE maker = $1)`, string(user)).
		Scan(&u.Folders, &u.Shares)
	return freshness.Wrap(err, "folders and shares created by "+string(user))
}

// ReadUsage is like Queries.Usage, for processes other than the server. It waits up to
// wait for the tables of the active generation to catch up, which requires a running
// server. behind is the difference between the positions of the log's head and of the
// tables.
func ReadUsage(ctx context.Context, o generation.Options, user events.Principal, wait time.Duration) (u Usage, behind events.Position, err error) {
	head, err := o.Log.Head(ctx)
	if err != nil {
		return u, 0, err
	}
	const pollInterval = 20 * time.Millisecond
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for ; ; wait -= pollInterval {
		err = o.Served(ctx, "usage", func(from generation.Reader) error {
			now, at, err := usedBy(ctx, from, user)
			if err == nil {
				err = created(ctx, from, user, &now)
			}
			u, behind = now, max(0, head-at)
			return err
		})
		if err != nil || behind == 0 || wait <= 0 {
			return u, behind, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return u, behind, ctx.Err()
		}
	}
}

// UsedIn returns the usage of a space, including its imports in progress. A space is a
// top-level folder, or a user's own folder in the inbox, with everything below it. For a
// folder that does not exist yet pass uuid.Nil as id; imports into it are found by name.
func (q *Queries) UsedIn(ctx context.Context, id uuid.UUID, name string) (bytes, documents int64, at events.Position, err error) {
	if err := q.usable(ctx); err != nil {
		return 0, 0, 0, err
	}
	err = q.Models.Usage.DB().QueryRowContext(ctx, `SELECT c.position, coalesce(s.bytes, 0), coalesce(s.documents, 0)
		FROM checkpoint c LEFT JOIN (SELECT sum(bytes) AS bytes, sum(documents) AS documents FROM spaces WHERE space IN ($1, $2)) s ON true`,
		id.String(), "/"+name).Scan(&at, &bytes, &documents)
	return bytes, documents, at, freshness.Wrap(err, "usage of a folder")
}

// UsedBelow returns the usage of a folder and everything below it, as of the log's head.
func (q *Queries) UsedBelow(ctx context.Context, id uuid.UUID) (bytes, documents int64, err error) {
	if err := q.usable(ctx); err != nil {
		return 0, 0, err
	}
	if err := q.Models.AwaitHead(ctx, q.Models.Usage); err != nil {
		return 0, 0, err
	}
	err = q.Models.Usage.DB().QueryRowContext(ctx, `WITH RECURSIVE below (id) AS (SELECT id FROM folders WHERE id = $1 UNION ALL SELECT f.id FROM folders f JOIN below ON f.parent = below.id)
		SELECT coalesce(sum(bytes), 0), coalesce(sum(documents), 0) FROM folders WHERE id IN (SELECT id FROM below) AND deleted = 0`, id.String()).Scan(&bytes, &documents)
	return bytes, documents, freshness.Wrap(err, "usage of a folder")
}
