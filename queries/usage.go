package queries

import (
	"context"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"

	"github.com/google/uuid"
)

// Usage is what a user has the service keep and do, by what he uploaded and
// made himself, wherever it lies.
type Usage struct {
	Bytes     int64 // of originals and what is kept of their text, in all versions of documents
	Documents int64
	Folders   int64
	Shares    int64 // entries in permission lists

	Imports         int64 // files in work
	ImportBytes     int64 //
	ImportDocuments int64 // that are to become documents of their own
	ImportFolders   int64 // that may have to be made for them

	// Until their originals are swept these count, too.
	FailedBytes  int64 // of files that came to nothing
	DeletedBytes int64 // of documents that were deleted, with their text
}

// AllBytes returns what counts as bytes of the user.
func (u Usage) AllBytes() int64 { return u.Bytes + u.ImportBytes + u.FailedBytes + u.DeletedBytes }

// Swept is for how long originals are kept of files that came to nothing, and of
// what was deleted: a day, and the time until the next sweep.
const Swept = 30 * time.Hour

// usable returns an error where the read model of usage cannot be trusted.
func (q *Queries) usable(ctx context.Context) error {
	if err := q.Models.Usage.Err(); err != nil {
		return fault.Hide(fault.Unavailable, "what you use cannot be told at the moment", err)
	}
	return q.await(ctx, q.Models.Usage, q.Start)
}

// UsedBy returns what a user takes, but for the folders and shares that exist,
// by the log up to the position that comes with it.
func (q *Queries) UsedBy(ctx context.Context, user events.Principal) (u Usage, at events.Position, err error) {
	if err := q.usable(ctx); err != nil {
		return u, 0, err
	}
	return usedBy(ctx, q.Models.Usage.DB(), user)
}

// rows is what usage is read from.
type rows interface {
	QueryRowContext(ctx context.Context, query string, args ...any) projections.Row
}

func usedBy(ctx context.Context, from rows, user events.Principal) (u Usage, at events.Position, err error) {
	// One statement, so that all of it is of one position.
	err = from.QueryRowContext(ctx, `SELECT c.position, coalesce(u.bytes, 0), coalesce(u.documents, 0),
			coalesce(u.work_files, 0), coalesce(u.work_bytes, 0), coalesce(u.work_documents, 0), coalesce(u.work_folders, 0), coalesce(x.failed, 0), coalesce(x.deleted, 0)
		FROM checkpoint c LEFT JOIN users u ON u.principal = $1
		LEFT JOIN (SELECT sum(failed) AS failed, sum(deleted) AS deleted FROM unswept WHERE owner = $1 AND hour > $2) x ON true`,
		string(user), time.Now().Add(-Swept).UTC().Format("2006-01-02T15")).
		Scan(&at, &u.Bytes, &u.Documents, &u.Imports, &u.ImportBytes, &u.ImportDocuments, &u.ImportFolders, &u.FailedBytes, &u.DeletedBytes)
	return u, at, wrap(err, "what "+string(user)+" uses")
}

// Usage returns all that a user takes.
func (q *Queries) Usage(ctx context.Context, user events.Principal) (Usage, error) {
	u, _, err := q.UsedBy(ctx, user)
	if err != nil {
		return u, err
	}
	return u, made(ctx, q.Models.Usage.DB(), user, &u)
}

func made(ctx context.Context, from rows, user events.Principal, u *Usage) error {
	err := from.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM folders WHERE maker = $1 AND deleted = 0), (SELECT count(*) FROM shares WHERE maker = $1)`, string(user)).
		Scan(&u.Folders, &u.Shares)
	return wrap(err, "what "+string(user)+" made")
}

// UsageBeside returns all that a user takes, by the read model that serves,
// beside whoever runs it, and how much of the log that does not know yet. For
// wait it is given time to follow; without a server it does not.
func UsageBeside(ctx context.Context, o projections.Options, user events.Principal, wait time.Duration) (u Usage, behind events.Position, err error) {
	head, err := o.Log.Head(ctx)
	if err != nil {
		return u, 0, err
	}
	const look = 20 * time.Millisecond
	tick := time.NewTicker(look)
	defer tick.Stop()
	for ; ; wait -= look {
		err = o.Served(ctx, projections.Usage{}, func(from projections.Reader) error {
			now, at, err := usedBy(ctx, from, user)
			if err == nil {
				err = made(ctx, from, user, &now)
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

// UsedIn returns what lies in a space, with all below it, and what is in work
// for it: a folder at the top level, or a user's own in the inbox. It need not
// exist yet: then id is uuid.Nil, and what is in work is found by the name.
func (q *Queries) UsedIn(ctx context.Context, id uuid.UUID, name string) (bytes, documents int64, at events.Position, err error) {
	if err := q.usable(ctx); err != nil {
		return 0, 0, 0, err
	}
	err = q.Models.Usage.DB().QueryRowContext(ctx, `SELECT c.position, coalesce(s.bytes, 0), coalesce(s.documents, 0)
		FROM checkpoint c LEFT JOIN (SELECT sum(bytes) AS bytes, sum(documents) AS documents FROM spaces WHERE space IN ($1, $2)) s ON true`,
		id.String(), "/"+name).Scan(&at, &bytes, &documents)
	return bytes, documents, at, wrap(err, "what a folder holds")
}

// UsedBelow returns what lies in a folder and below it, by all that is in the
// log now.
func (q *Queries) UsedBelow(ctx context.Context, id uuid.UUID) (bytes, documents int64, err error) {
	if err := q.usable(ctx); err != nil {
		return 0, 0, err
	}
	head, err := q.Models.Usage.Head(ctx)
	if err == nil {
		err = q.await(ctx, q.Models.Usage, head)
	}
	if err != nil {
		return 0, 0, err
	}
	err = q.Models.Usage.DB().QueryRowContext(ctx, `WITH RECURSIVE below (id) AS (SELECT id FROM folders WHERE id = $1 UNION ALL SELECT f.id FROM folders f JOIN below ON f.parent = below.id)
		SELECT coalesce(sum(bytes), 0), coalesce(sum(documents), 0) FROM folders WHERE id IN (SELECT id FROM below) AND deleted = 0`, id.String()).Scan(&bytes, &documents)
	return bytes, documents, wrap(err, "what a folder holds")
}
