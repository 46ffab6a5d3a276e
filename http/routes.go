package http

import (
	"context"
	"io"

	"annals/commands"
	"annals/commands/foldertree"
	"annals/commands/quota"
	"annals/events"
	"annals/http/admin"
	"annals/http/ingest"
	"annals/queries"
	"annals/queries/access"
	"annals/queries/answerlog"
	"annals/queries/audit"
	"annals/queries/jobs"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// coreRoutes are the routes of the core. Their paths are below CoreURL.
var coreRoutes = []route{
	{"POST", "/ingest", (*Server).ingest, changes},
	{"GET", "/jobs", metered((*Server).jobs), reads},
	{"GET", "/jobs/{job_id}", (*Server).job, reads},
	{"GET", "/jobs/{job_id}/events", (*Server).jobEvents, reads},
	{"POST", "/search", (*Server).search, reads},
	{"POST", "/ask", (*Server).ask, reads},
	{"GET", "/answers", metered((*Server).answerRecords), reads},
	{"GET", "/answers/{id}", metered(byID((*Server).answerRecord)), reads},
	{"GET", "/folders/summary", metered((*Server).folderSummary), reads},
	{"GET", "/formats", (*Server).formats, reads},
	{"GET", "/admin/projections", metered(administrators((*admin.Service).Projections)), reads},
	{"POST", "/admin/projections/{name}/rebuild", administrators((*admin.Service).Rebuild), changes},
	{"GET", "/admin/parked", metered(administrators((*admin.Service).Parked)), reads},
	{"POST", "/admin/parked/retry", administrators((*admin.Service).Retry), changes},
	{"GET", "/admin/events", metered(administrators((*admin.Service).Tail)), reads},
	{"GET", "/admin/users", metered(administrators((*admin.Service).Users)), reads},
	{"GET", "/admin/groups", metered(administrators((*admin.Service).Groups)), reads},
	{"GET", "/admin/figures", metered(administrators((*admin.Service).Numbers)), reads},
}

// vaultRoutes are the routes of the vault. Their paths are below VaultURL. The deep link
// precedes /documents/{id}, which would match it too.
var vaultRoutes = []route{
	{"GET", "/folders", metered((*Server).folders), reads},
	{"POST", "/folders", (*Server).createFolder, changes},
	{"GET", "/folders/{id}", metered(byID((*Server).folder)), reads},
	{"PATCH", "/folders/{id}", byID((*Server).changeFolder), changes},
	{"DELETE", "/folders/{id}", byID((*Server).deleteFolder), changes},
	{"GET", "/folders/{id}/permissions", metered(byID((*Server).permissions)), reads},
	{"PUT", "/folders/{id}/permissions", byID((*Server).shareFolder), changes},
	{"GET", "/invitations", metered((*Server).invitations), reads},
	{"POST", "/invitations/{id}/accept", byID((*Server).acceptInvitation), changes},
	{"POST", "/invitations/{id}/decline", byID((*Server).declineInvitation), changes},
	{"GET", "/invitations/blocked", metered((*Server).blockedInviters), reads},
	{"DELETE", "/invitations/blocked", (*Server).unblockInviter, changes},
	{"GET", "/documents", metered((*Server).documents), reads},
	{"POST", "/documents/batch", (*Server).documentBatch, reads},
	{"POST", "/documents/reread", (*Server).rereadDocuments, changes},
	{"GET", deepLink, (*Server).deepLink, reads},
	{"GET", "/documents/{id}", metered(byID((*Server).document)), reads},
	{"PATCH", "/documents/{id}", byID((*Server).changeDocument), changes},
	{"DELETE", "/documents/{id}", byID((*Server).deleteDocument), changes},
	{"POST", "/documents/{id}/restore", byID((*Server).restoreDocument), changes},
	{"GET", "/documents/{id}/content", byID((*Server).content), reads},
	{"PUT", "/documents/{id}/content", (*Server).reviseDocument, changes},
	{"GET", "/documents/{id}/markdown", metered(byID((*Server).markdown)), reads},
	{"GET", "/documents/{id}/tags", metered(byID((*Server).documentTags)), reads},
	{"PUT", "/documents/{id}/tags", byID((*Server).tagDocument), changes},
	{"GET", "/documents/{id}/versions", metered(byID((*Server).versions)), reads},
	{"GET", "/documents/{id}/versions/{version}", metered((*Server).documentVersion), reads},
	{"GET", "/documents/{id}/versions/{version}/content", (*Server).versionContent, reads},
	{"GET", "/documents/{id}/versions/{version}/markdown", metered((*Server).versionMarkdown), reads},
	{"GET", "/documents/{id}/pages/{page}.png", metered(byID((*Server).pagePicture)), reads},
	{"GET", "/documents/{id}/pages/{page}/words", metered(byID((*Server).pageWords)), reads},
	{"GET", "/documents/{id}/versions/{version}/pages/{page}.png", metered((*Server).versionPagePicture), reads},
	{"GET", "/documents/{id}/versions/{version}/pages/{page}/words", metered((*Server).versionPageWords), reads},
	{"GET", "/tags", metered((*Server).tags), reads},
	{"GET", "/me", (*Server).me, reads},
	{"GET", "/usage", (*Server).usage, reads},
	{"GET", "/audit", metered((*Server).audit), reads},
}

// deepLink is the path in search results that opens the original of a document. It exists
// below VaultURL and at the root of the host.
const deepLink = "/documents/{id:[0-9a-fA-F]+-[0-9a-fA-F-]+}.{ext:[^/]+}"

type route struct {
	method, path string
	handle       endpoint
	effect       effect
}

// effect says whether a route changes anything. Read-only API tokens may use only routes that
// are marked with reads. The zero value is changes, so that a forgotten mark grants nothing.
type effect int

const (
	changes effect = iota
	reads
)

// Queries are the queries of the core and the vault. *queries.Queries implements it.
type Queries interface {
	Ready(ctx context.Context) error
	Status(ctx context.Context) ([]queries.Model, error)
	AwaitWrite(ctx context.Context, at events.Position) error

	Folders(ctx context.Context, user events.User, parent *uuid.UUID) ([]vault.Folder, error)
	Folder(ctx context.Context, user events.User, id uuid.UUID) (vault.Folder, error)
	FolderAt(ctx context.Context, user events.User, path string) (f vault.Folder, found bool, err error)
	PlaceOf(ctx context.Context, user events.User, path string) (access.Place, error)
	Access(ctx context.Context, user events.User, folder uuid.UUID) (events.Access, error)
	FolderDetail(ctx context.Context, user events.User, id uuid.UUID) (vault.FolderDetail, error)
	Permissions(ctx context.Context, user events.User, folder uuid.UUID) (access.Permissions, error)
	Invitations(ctx context.Context, user events.User) ([]vault.Invitation, error)
	BlockedInviters(ctx context.Context, user events.User) ([]vault.Blocked, error)
	Documents(ctx context.Context, user events.User, f vault.DocumentFilter) (docs []vault.Document, next string, err error)
	CountDocuments(ctx context.Context, user events.User, f vault.DocumentFilter) (int, error)
	Document(ctx context.Context, user events.User, id uuid.UUID) (vault.Document, error)
	DocumentBatch(ctx context.Context, user events.User, ids []uuid.UUID) ([]vault.Document, error)
	DocumentsToReread(ctx context.Context, user events.User, f vault.RereadFilter) (docs []vault.Document, next string, err error)
	Describe(ctx context.Context, user events.User, id uuid.UUID) (vault.Document, error)
	Markdown(ctx context.Context, user events.User, id uuid.UUID) (write func(io.Writer) error, err error)
	Versions(ctx context.Context, user events.User, document uuid.UUID) ([]vault.Version, error)
	DocumentVersion(ctx context.Context, user events.User, document uuid.UUID, version int, content bool) (vault.Document, error)
	VersionMarkdown(ctx context.Context, user events.User, document uuid.UUID, version int) (d vault.Document, write func(io.Writer) error, err error)
	VisibleTags(ctx context.Context, user events.User) ([]string, error)
	Audit(ctx context.Context, user events.User, f audit.Filter) (entries []audit.Entry, next string, err error)

	Usage(ctx context.Context, user events.Principal) (queries.Usage, error)

	Job(ctx context.Context, user events.User, id string) (jobs.Job, error)
	JobList(ctx context.Context, user events.User, before uuid.UUID, limit int) (list []jobs.Job, next uuid.UUID, err error)
	FollowJob(ctx context.Context, user events.User, id string, each func(jobs.Update) error) error

	SearchPage(ctx context.Context, user events.User, s search.Query) (sources []search.Source, next string, err error)
	Ask(ctx context.Context, user events.User, s search.Question) (search.Answer, error)
	AnswerRecords(ctx context.Context, user events.User, before uuid.UUID) (records []answerlog.Record, next uuid.UUID, err error)
	AnswerRecord(ctx context.Context, user events.User, id uuid.UUID) (answerlog.Record, error)
	FolderSummary(ctx context.Context, user events.User, path string) (vault.FolderSummary, error)
}

// Commands are the commands of the core and the vault. *commands.Handler implements it. The
// returned positions are those of the last event that the command appended.
type Commands interface {
	ingest.Commands
	ingest.Restorer

	CreateFolder(ctx context.Context, user events.User, correlation string, c foldertree.CreateFolder) (id uuid.UUID, at events.Position, err error)
	ChangeFolder(ctx context.Context, user events.User, correlation string, c foldertree.ChangeFolder) (events.Position, error)
	ShareFolder(ctx context.Context, user events.User, correlation string, c foldertree.ShareFolder) (events.Position, error)
	AcceptInvitation(ctx context.Context, user events.User, correlation string, c foldertree.AcceptInvitation) (events.Position, error)
	DeclineInvitation(ctx context.Context, user events.User, correlation string, c foldertree.DeclineInvitation) (events.Position, error)
	UnblockInviter(ctx context.Context, user events.User, correlation string, c foldertree.UnblockInviter) (events.Position, error)
	DeleteFolder(ctx context.Context, user events.User, correlation string, c foldertree.DeleteFolder) (events.Position, error)

	ChangeDocument(ctx context.Context, user events.User, correlation string, c commands.ChangeDocument) (events.Position, error)
	DeleteDocument(ctx context.Context, user events.User, correlation string, c commands.DeleteDocument) (events.Position, error)
	CheckRevision(ctx context.Context, user events.User, document uuid.UUID, version int) error
	AdmitRevision(ctx context.Context, user events.User, hold *quota.Hold, c commands.ReviseDocument) error
	StartRevision(ctx context.Context, user events.User, correlation string, c commands.ReviseDocument) (commands.Started, error)
	StartReread(ctx context.Context, user events.User, correlation string, c commands.RereadDocuments) (started commands.Started, documents int, err error)
}
