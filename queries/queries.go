// Package queries is the read side: it answers every read of the REST
// interface and of the agent tools from projections alone, for one user at a
// time, and never tells what that user may not read. It imports projections
// and events.
package queries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/projections/searchindex"
	"annals/queries/accesslog"

	"github.com/google/uuid"
)

// Queries answers reads. All methods may be called at the same time.
type Queries struct {
	Models *projections.Set
	// SearchLimit is the number of passages that a search returns: 10 where
	// it is 0.
	SearchLimit int
	// MaxLag bounds how long a read waits for a read model that is behind
	// another: 5 s where it is 0.
	MaxLag time.Duration
	// Start is the log's head when the service started: it is ready once
	// every read model has passed it.
	Start events.Position
	// Accesses are who signed in, who was refused and who read what. May be nil.
	Accesses *accesslog.Log
}

// Ready returns nil once every read model has caught up with what the log held
// at the start, or an error of kind fault.Unavailable that says what is waited
// for. A search engine that does not answer is not waited for: all but searches
// go on without it.
func (q *Queries) Ready(ctx context.Context) error {
	for _, m := range q.Models.All() {
		if err := m.Err(); err != nil {
			return err
		}
		p := m.Position()
		if m.Away() != nil {
			p = m.Applied()
		}
		if p < q.Start {
			if full := m.Full(); full != nil {
				return full
			}
			return fault.Errorf(fault.Unavailable, "the read model %s is at position %d of %d", m.Name(), p, q.Start)
		}
	}
	if err := q.trusted(ctx); err != nil {
		return err
	}
	_, err := passed(ctx, q.Models.Vault) // which every read asks first
	return err
}

// WaitJob returns once the jobs' read model has passed p.
func (q *Queries) WaitJob(ctx context.Context, p events.Position) error {
	return q.Models.Jobs.Wait(ctx, p)
}

// WaitVault returns once the vault's read model has passed p.
func (q *Queries) WaitVault(ctx context.Context, p events.Position) error {
	return q.Models.Vault.Wait(ctx, p)
}

const defaultMaxLag = 5 * time.Second

// await returns nil once a read model has passed p, or, after MaxLag, an error
// of kind fault.Unavailable.
func (q *Queries) await(ctx context.Context, m *projections.Runner, p events.Position) error {
	return q.awaitBy(ctx, m, m.Wait, p)
}

// awaitBy is await by one of the ways to wait for a read model.
func (q *Queries) awaitBy(ctx context.Context, m *projections.Runner, wait func(context.Context, events.Position) error, p events.Position) error {
	soon, cancel := context.WithTimeout(ctx, cmp.Or(q.MaxLag, defaultMaxLag))
	defer cancel()
	err := wait(soon, p)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fault.Hide(fault.Unavailable, "what is new cannot be read at the moment: the read model "+m.Name()+" is behind", err)
}

// passed returns up to where the tables of a read model hold everything. They
// tell more than the runner: a position counts there from the moment on at
// which others see the rows.
func passed(ctx context.Context, m *projections.Runner) (p events.Position, err error) {
	err = m.DB().QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, wrap(err, "position of the read model "+m.Name())
}

// trusted returns an error where the read model that permissions hang on cannot
// be trusted: it has stopped, does not know yet what was withdrawn before the
// service started, or cannot take in what was withdrawn since, because its disk is full.
func (q *Queries) trusted(ctx context.Context) error {
	err := q.Models.Vault.Err()
	if full := q.Models.Vault.Full(); full != nil && err == nil {
		var withdraws bool
		if withdraws, err = q.Models.Vault.Withdraws(ctx); withdraws {
			err = cmp.Or(err, full)
		}
	}
	if err != nil {
		return fault.Errorf(fault.Unavailable, "the vault cannot be read at the moment: %w", err)
	}
	if p := q.Models.Vault.Position(); p < q.Start {
		return fault.Errorf(fault.Unavailable, "the vault is being brought up to date: it is at position %d of %d", p, q.Start)
	}
	return nil
}

// notFound hides whether a thing does not exist or may not be read.
func notFound(what string, id any) error {
	return fault.Errorf(fault.NotFound, "no %s %v", what, id)
}

func wrap(err error, what string) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case projections.Damaged(err):
		return fault.Hide(fault.Unavailable, what+" cannot be read at the moment: the read model is damaged, and is being made anew", err)
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// Folder is a folder as the vault lists it.
type Folder struct {
	ID        uuid.UUID
	Name      string
	Parent    uuid.UUID // uuid.Nil at the top level, or where the caller may not read the parent
	DocFolder bool      // it directly holds documents
	Version   int64     // rises with every change of it
	CreatedAt time.Time
	UpdatedAt time.Time
}

// FolderDetail is a folder with what is around it.
type FolderDetail struct {
	Folder
	Ancestors       []Folder   // from the top level down to the parent; only ID and Name are set
	Documents       []Document // directly in it
	Subfolders      []Folder   // directly in it
	ParentDocuments []Document // directly in its parent
}

// Permissions are what a folder itself grants; what those above it grant comes
// on top.
type Permissions struct {
	Owners  []events.Principal // whom no list replaces
	List    []events.Permission
	Invited []events.Permission // what users may do once they accept
	Version int64               // of the folder
}

// Document is a document as the vault lists it.
type Document struct {
	ID          uuid.UUID
	Name        string // the file's name
	Title       string
	Description string // one line
	MediaType   string
	Size        int64
	SHA256      string
	Folder      uuid.UUID
	FolderPath  string // from the top level
	FolderShown string // as the user is shown it: it begins at the topmost folder on it that he may read
	Version     int
	Pages       int // 0 where there are no pages
	Tags        []string
	Owner       string // who imported it
	CreatedAt   time.Time
	UpdatedAt   time.Time
	content     int    // the version at which its content was last made
	textStream  string // of that content
	// Content is the Markdown of a text document, with front matter; nil for
	// others and in listings.
	Content *string
}

// Version tells of one version of a document.
type Version struct {
	Version   int
	CreatedAt time.Time
	CreatedBy events.Principal
	Change    string // what made it: imported, renamed, moved, tagged, revised, reread; or several, with commas between
}

// DocumentFilter chooses the documents of a listing.
type DocumentFilter struct {
	Folder *uuid.UUID // nil: the top level, or with Tag all folders
	Tag    string
	Limit  int    // 0: all
	Cursor string // where the last page ended
}

// Model is how far a read model is.
type Model struct {
	Name           string
	Position, Head events.Position // what it has passed, and the log's end
	Lag            time.Duration   // for how long the first event that it has not passed is in the log; 0 where there is none
	Unheard        bool            // the log does not answer: Head and Lag are not known
	Waiting        int             // documents that the search index takes behind everything else: very large ones, and those in folders that were moved
	Full           bool            // it stays behind because its disk is full
	Leads          bool            // of nodes that share it this one applies events
	Parked         int             // events that could not be applied, and those that wait behind them in their streams
}

// Job is an import job as its user sees it.
type Job struct {
	ID         uuid.UUID
	Status     string // processing, complete or error
	Message    string
	Percent    float64
	Total      int
	Successful int
	Failed     int
	Error      string
	Done       bool
	Results    []JobResult // one per file, in the upload's order; those still in work have neither Success nor Error
}

// JobResult tells what became of one file.
type JobResult struct {
	Filename   string
	Done       bool
	Success    bool
	FolderName string
	Document   uuid.UUID // uuid.Nil while there is none
	Title      string
	Error      string     // why it failed
	Kind       fault.Kind // whose fault that is: fault.Invalid where it is the file's own
	Warnings   []string
	Tags       []string
	Duplicate  bool
	Outcome    string // as events.FileImported has it; "" where it is not known, or not imported
}

// JobUpdate is one step of a job's progress: of one file, or, where Job is
// set, the end.
type JobUpdate struct {
	File      string
	Step      string // reading, ocr, splitting, summarising, filing, indexing; "" for a file that ended
	Message   string
	Document  uuid.UUID
	Duplicate bool
	Outcome   string // of a file that was imported
	Failed    string // why the file failed
	Job       *Job   // the finished job
}

// Search is a question with its limits.
type Search struct {
	Query    string
	Folder   string    // path, from the top level or as the user is shown it; "" for everywhere
	Document uuid.UUID // uuid.Nil for all
	Tags     []string
	AnyTag   bool   // one of Tags is enough
	Limit    int    // 0: the configured limit; at most MaxSearchLimit
	Cursor   string // of a page after the first one, as the page before it gave it
}

// MaxSearchLimit is how many passages a search returns at most.
const MaxSearchLimit = 100

// MaxSearchDepth is how many passages all pages of a search return at most.
const MaxSearchDepth = searchindex.MaxLimit

// Source is a passage that answers.
type Source struct {
	id, body  string // of the passage; its text without the heading
	folder    string // id
	Document  uuid.UUID
	Title     string // of the document
	Folder    string // path of the folder that the document lies in
	Owner     string // principal of whoever owns that folder, or the nearest one above it that somebody owns; "" for nobody
	LeafTitle string // of the section
	Path      []string
	StartPage int // 0 where there are no pages
	EndPage   int
	Text      string // Markdown; a section's first passage begins with its heading
	Score     float64
	DeepLink  string // /documents/<id>.<ext>#page=<n>
}

// Answer is what Ask found.
type Answer struct {
	Text       string
	Reasoning  string
	Confidence float64     // 0 to 1; under 0.3 it abstains
	Documents  []uuid.UUID // that were looked at
	Sources    []Source    // passages that it rests on; none where it abstains
}

// FolderSummary describes what a folder holds.
type FolderSummary struct {
	Status      string // ok, none or unavailable
	Folder      string // path, as the user is shown it
	Document    uuid.UUID
	Title       string
	Description string
	Content     string // Markdown list
	Truncated   bool
}
