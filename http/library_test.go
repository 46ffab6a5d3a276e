package http_test

import (
	"cmp"
	"context"
	"io"
	"sync/atomic"

	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
	"annals/queries"
	"annals/queries/access"
	"annals/queries/jobs"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// library is a fake of the queries. A test sets what they return, except for jobs, which are
// read from the log.
type library struct {
	httpd.Queries // nil, so that a method that the test does not expect panics

	log       *events.Log
	folders   map[uuid.UUID]vault.Folder // all of them belong to alice
	docs      []vault.Document
	sources   []search.Source
	answer    search.Answer
	summary   vault.FolderSummary
	lastQuery search.Query
	filter    vault.DocumentFilter
	markdown  string
	models    []queries.Model
	fail      error         // returned by every read
	notReady  error         // returned by Ready only
	noStatus  error         // returned by Status only
	lag       bool          // AwaitWrite never succeeds
	held      chan struct{} // if not nil, AwaitWrite waits until this channel is closed
	passed    atomic.Int64  // the position that was passed to AwaitWrite last
	follow    func(ctx context.Context, each func(jobs.Update) error) error
}

func (l *library) check(u events.User) error {
	if l.fail == nil && u.Principal != "user:alice" {
		return fault.Errorf(fault.NotFound, "there is no such thing for %s", u.Principal)
	}
	return l.fail
}

func (l *library) Ready(context.Context) error { return cmp.Or(l.notReady, l.fail) }

func (l *library) Status(context.Context) ([]queries.Model, error) {
	return l.models, cmp.Or(l.noStatus, l.fail)
}

func (l *library) AwaitWrite(ctx context.Context, after events.Position) error {
	if l.lag {
		<-ctx.Done()
		return ctx.Err()
	}
	if l.held != nil {
		select {
		case <-l.held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.passed.Store(int64(after))
	return nil
}

func (l *library) Job(ctx context.Context, u events.User, id string) (jobs.Job, error) {
	parsed, err := uuid.Parse(id)
	j := jobs.Job{ID: parsed, Status: "processing", Message: "waiting"}
	if err != nil {
		return j, fault.Errorf(fault.NotFound, "there is no job %s", id)
	}
	owner := events.Principal("")
	err = l.log.ReadStream(ctx, events.JobStream(parsed), 0, func(e events.Event) error {
		switch d := e.Data.(type) {
		case events.FileAccepted:
			j.Results = append(j.Results, jobs.Result{Filename: d.Name, FolderName: d.Folder, Tags: d.Tags, Error: d.Refused})
		case events.ImportRequested:
			owner, j.Total = d.User, d.Files
		}
		return nil
	})
	if err == nil && owner != u.Principal {
		err = fault.Errorf(fault.NotFound, "there is no job %s", id)
	}
	return j, err
}

func (l *library) FollowJob(ctx context.Context, _ events.User, _ string, each func(jobs.Update) error) error {
	head, err := l.log.Head(ctx)
	if err == nil {
		err = l.AwaitWrite(ctx, head) // the real method also waits for the job
	}
	if err != nil {
		return err
	}
	return l.follow(ctx, each)
}

func (l *library) SearchPage(_ context.Context, _ events.User, q search.Query) ([]search.Source, string, error) {
	l.lastQuery = q
	return l.sources, "", l.fail
}

func (l *library) Ask(_ context.Context, _ events.User, q search.Question) (search.Answer, error) {
	l.lastQuery = q.Search
	return l.answer, l.fail
}

func (l *library) FolderSummary(_ context.Context, _ events.User, path string) (vault.FolderSummary, error) {
	l.lastQuery.Folder = path
	return l.summary, l.fail
}

func (l *library) Folders(_ context.Context, u events.User, parent *uuid.UUID) ([]vault.Folder, error) {
	var in uuid.UUID
	if parent != nil {
		in = *parent
		if _, ok := l.folders[in]; !ok {
			return nil, fault.Errorf(fault.NotFound, "no folder %s", in)
		}
	}
	var out []vault.Folder
	for _, f := range l.folders {
		if f.Parent == in {
			out = append(out, f)
		}
	}
	sortFolders(out)
	return out, l.check(u)
}

func (l *library) Folder(_ context.Context, u events.User, id uuid.UUID) (vault.Folder, error) {
	f, ok := l.folders[id]
	if !ok {
		return f, fault.Errorf(fault.NotFound, "no folder %s", id)
	}
	return f, l.check(u)
}

func (l *library) PlaceOf(_ context.Context, _ events.User, path string) (access.Place, error) {
	return access.Place{Path: path}, l.fail
}

func (l *library) Access(context.Context, events.User, uuid.UUID) (events.Access, error) {
	return events.Write, l.fail
}

func (l *library) FolderDetail(ctx context.Context, u events.User, id uuid.UUID) (vault.FolderDetail, error) {
	f, err := l.Folder(ctx, u, id)
	d := vault.FolderDetail{Folder: f, Documents: l.docs}
	d.Subfolders, _ = l.Folders(ctx, u, &id)
	if parent, ok := l.folders[f.Parent]; ok {
		d.Ancestors = []vault.Folder{parent}
	}
	return d, err
}

func (l *library) Documents(_ context.Context, u events.User, f vault.DocumentFilter) ([]vault.Document, string, error) {
	l.filter = f
	if f.Folder != nil {
		if _, ok := l.folders[*f.Folder]; !ok {
			return nil, "", fault.Errorf(fault.NotFound, "no folder %s", f.Folder)
		}
	}
	if f.Cursor == "bad" {
		return nil, "", fault.Errorf(fault.Invalid, "invalid cursor %q", f.Cursor)
	}
	if f.Limit > 0 && f.Limit < len(l.docs) {
		return l.docs[:f.Limit], "next & more", l.check(u)
	}
	return l.docs, "", l.check(u)
}

func (l *library) Document(_ context.Context, u events.User, id uuid.UUID) (vault.Document, error) {
	for _, d := range l.docs {
		if d.ID == id {
			return d, l.check(u)
		}
	}
	return vault.Document{}, fault.Errorf(fault.NotFound, "no document %s", id)
}

func (l *library) DocumentBatch(ctx context.Context, u events.User, ids []uuid.UUID) (out []vault.Document, err error) {
	for _, id := range ids {
		if d, err := l.Document(ctx, u, id); err == nil {
			out = append(out, d)
		}
	}
	return out, l.fail
}

func (l *library) Describe(ctx context.Context, u events.User, id uuid.UUID) (vault.Document, error) {
	return l.Document(ctx, u, id)
}

func (l *library) Markdown(ctx context.Context, u events.User, id uuid.UUID) (func(io.Writer) error, error) {
	_, err := l.Document(ctx, u, id)
	return func(w io.Writer) error {
		_, err := io.WriteString(w, l.markdown)
		return err
	}, err
}

func (l *library) VisibleTags(context.Context, events.User) ([]string, error) { return nil, l.fail }
