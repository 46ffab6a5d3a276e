package http

import (
	"context"
	"io"

	"annals/commands"
	"annals/events"
	"annals/queries"

	"github.com/google/uuid"
)

// Queries answers every read: queries.Queries does.
type Queries interface {
	Ready(ctx context.Context) error
	WaitJob(ctx context.Context, after events.Position) error

	Folders(ctx context.Context, user events.User, parent *uuid.UUID) ([]queries.Folder, error)
	Folder(ctx context.Context, user events.User, id uuid.UUID) (queries.Folder, error)
	FolderDetail(ctx context.Context, user events.User, id uuid.UUID) (queries.FolderDetail, error)
	Documents(ctx context.Context, user events.User, f queries.DocumentFilter) (docs []queries.Document, next string, err error)
	Document(ctx context.Context, user events.User, id uuid.UUID) (queries.Document, error)
	DocumentBatch(ctx context.Context, user events.User, ids []uuid.UUID) ([]queries.Document, error)
	Describe(ctx context.Context, user events.User, id uuid.UUID) (queries.Document, error)
	Markdown(ctx context.Context, user events.User, id uuid.UUID) (write func(io.Writer) error, err error)
	Tags(ctx context.Context, user events.User, id uuid.UUID) ([]string, error)
	VisibleTags(ctx context.Context, user events.User) ([]string, error)

	Job(ctx context.Context, user events.User, id string) (queries.Job, error)
	FollowJob(ctx context.Context, user events.User, id string, each func(queries.JobUpdate) error) error

	Search(ctx context.Context, user events.User, s queries.Search) ([]queries.Source, error)
	Ask(ctx context.Context, user events.User, s queries.Search) (queries.Answer, error)
	FolderSummary(ctx context.Context, user events.User, path string) (queries.FolderSummary, error)
}

// Commands takes uploads in: *commands.Handler does.
type Commands interface {
	CheckImport(ctx context.Context, user events.User, folders []string) error
	StartImport(ctx context.Context, user events.User, correlation string, uploads []commands.Upload) (commands.Started, error)
}
