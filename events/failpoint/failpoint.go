// Package failpoint marks the moments between two durable steps, so that a test can kill
// the process at such a moment. It imports no other package of this module, and any
// package may import it.
//
// It only has an effect in builds with -tags failpoint. There the environment variable
// ANNALS_FAILPOINT has a point and a count: "events-committed:3" kills the process with
// SIGKILL when it reaches that point for the third time. In other builds Here is an
// empty function that the compiler removes.
package failpoint

// Point names a moment between two durable steps.
type Point string

// The points. They are ordered as the service reaches them: first during its first
// start, then during imports and changes, and last during rebuilds. Each comment says
// what is durable at the point, and what is not.
const (
	LogPrepared         Point = "log-prepared"          // the log file exists, but has no tables
	LogCreated          Point = "log-created"           // the log exists and is empty
	OriginalsFolder     Point = "originals-folder"      // a folder of the originals was created
	StagingSwept        Point = "staging-swept"         // an abandoned upload was removed
	ControlOpened       Point = "control-opened"        // the control store exists
	LeasesReleased      Point = "leases-released"       // the leases of the previous process were released
	TablesCreated       Point = "tables-created"        // the tables of a read model were created, uncommitted
	IndexOpened         Point = "index-opened"          // a search index exists, but its tables may not
	GenerationCreated   Point = "generation-created"    // a generation exists, but is not recorded as active
	GenerationRecorded  Point = "generation-recorded"   // the new generation is recorded as active, the replaced one as abandoned
	AccountsFileCreated Point = "accounts-file-created" // the accounts file exists, maybe without tables
	AccountsCreated     Point = "accounts-created"      // the accounts exist, without users
	UserCreated         Point = "user-created"          // a user exists, the password is not printed yet
	KeyCreated          Point = "key-created"           // a signing key exists
	AddressesWritten    Point = "addresses-written"     // the addresses are in a temporary file
	LeasesForgotten     Point = "leases-forgotten"      // expired leases were deleted
	OriginalStaged      Point = "original-staged"       // an upload is written to the staging folder, not synced
	OriginalsSynced     Point = "originals-synced"      // all uploads of a request are synced
	OriginalPlaced      Point = "original-placed"       // one of the uploads was renamed to its final name
	OriginalsDurable    Point = "originals-durable"     // all uploads were renamed, but no job names them
	OriginalRemoved     Point = "original-removed"      // an unreferenced original was removed
	EventsInserted      Point = "events-inserted"       // the appends of a transaction were inserted, uncommitted
	EventsCommitted     Point = "events-committed"      // the appends are committed, but no caller has the result
	JobStarted          Point = "job-started"           // some files are in the log, ImportRequested is not
	FileClaimed         Point = "file-claimed"          // a file is leased, FileStarted is not in the log
	FileStarted         Point = "file-started"          // FileStarted is in the log
	TextExtracted       Point = "text-extracted"        // the whole text was extracted, nothing is appended
	TextAppended        Point = "text-appended"         // a batch of sections was appended
	FolderReady         Point = "folder-ready"          // the target folder of a file exists
	TextEnded           Point = "text-ended"            // the text is complete, no document names it
	DocumentFiled       Point = "document-filed"        // a document was created, the job does not name it
	DocumentRevised     Point = "document-revised"      // a document was revised, the job does not name it
	DocumentReplaced    Point = "document-replaced"     // a document was replaced by name, the job does not name it
	FileFinished        Point = "file-finished"         // FileImported is in the log, the lease is not released
	FileFailed          Point = "file-failed"           // FileFailed is in the log, the lease is not released
	LeaseRenewed        Point = "lease-renewed"         // the lease of a file was renewed
	FileReleased        Point = "file-released"         // the lease of an unprocessed file was released
	EventsApplied       Point = "events-applied"        // a batch was applied to a read model, uncommitted
	BatchCommitted      Point = "batch-committed"       // the batch is committed
	IndexBehind         Point = "index-behind"          // the tables list passages that the index lacks
	IndexAhead          Point = "index-ahead"           // the index has these passages, the tables do not record it
	PassagesDeleted     Point = "passages-deleted"      // the index deleted passages, the tables do not record it
	IndexRecorded       Point = "index-recorded"        // the tables record what the index has
	LabelsBehind        Point = "labels-behind"         // the index has old labels after a folder was moved
	LabelsRecorded      Point = "labels-recorded"       // some of these labels are updated
	RebuildClaimed      Point = "rebuild-claimed"       // the rebuild lease is held, nothing is done
	RebuildStarted      Point = "rebuild-started"       // a generation to fill is recorded
	RebuildFilled       Point = "rebuild-filled"        // the generation is filled, but not recorded as ready
	RebuildReady        Point = "rebuild-ready"         // the filled generation is ready for the cut-over
	RebuildReleased     Point = "rebuild-released"      // the rebuild lease was released
	RollbackReady       Point = "rollback-ready"        // the kept generation is ready for the cut-over
	CutOverReady        Point = "cut-over-ready"        // the next generation has caught up, and is not active
	CutOver             Point = "cut-over"              // the next generation is active, the previous one is kept
	GenerationAbandoned Point = "generation-abandoned"  // a generation is recorded for deletion
	GenerationRemoved   Point = "generation-removed"    // one file of the abandoned generation was deleted
	GenerationForgotten Point = "generation-forgotten"  // all files of the abandoned generation and its record were deleted
	StreamsRemoved      Point = "streams-removed"       // streams were removed from the log, uncommitted
	RemovalCommitted    Point = "removal-committed"     // the removal is committed
	LogShrunk           Point = "log-shrunk"            // the shrunk content is still in the log file's write-ahead log
	ModelDiscarded      Point = "model-discarded"       // all generations of a read model are abandoned
)

// All lists every point.
var All = []Point{
	LogPrepared, LogCreated, OriginalsFolder, StagingSwept, ControlOpened, LeasesReleased, TablesCreated,
	IndexOpened, GenerationCreated, GenerationRecorded, AccountsFileCreated, AccountsCreated, UserCreated,
	KeyCreated, AddressesWritten, LeasesForgotten, OriginalStaged, OriginalsSynced, OriginalPlaced,
	OriginalsDurable, OriginalRemoved, EventsInserted, EventsCommitted, JobStarted, FileClaimed, FileStarted,
	TextExtracted, TextAppended, FolderReady, TextEnded, DocumentFiled, DocumentRevised, DocumentReplaced,
	FileFinished, FileFailed, LeaseRenewed, FileReleased, EventsApplied, BatchCommitted, IndexBehind, IndexAhead,
	PassagesDeleted, IndexRecorded, LabelsBehind, LabelsRecorded, RebuildClaimed, RebuildStarted, RebuildFilled,
	RebuildReady, RebuildReleased, RollbackReady, CutOverReady, CutOver, GenerationAbandoned, GenerationRemoved,
	GenerationForgotten, StreamsRemoved, RemovalCommitted, LogShrunk, ModelDiscarded,
}

// Variable is the environment variable that selects the point.
const Variable = "ANNALS_FAILPOINT"
