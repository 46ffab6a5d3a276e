// Package failpoint marks the boundaries between two things that a process
// makes durable, so that a test can kill it there. It imports no other package of this
// module, and any package may import it.
//
// It only has an effect in builds with -tags failpoint. There the
// environment variable ANNALS_FAILPOINT names a point, and after a colon how
// often it has to be reached: "log-committed:3" ends the process by SIGKILL when
// it reaches that point for the third time. In any other build Here is an empty
// function that the compiler removes.
package failpoint

// Point names a boundary.
type Point string

// The points, in the order in which a first start, imports and changes, and
// then rebuilds come to them.
const (
	LogPrepared       Point = "log-prepared"        // its file is there, its tables are not
	LogMade           Point = "log-made"            // and empty
	OriginalsFolder   Point = "originals-folder"    // one of them is made
	StagingSwept      Point = "staging-swept"       // an abandoned upload is removed
	ControlMade       Point = "control-made"        // or opened
	LeasesReleased    Point = "leases-released"     // of the previous process
	TablesMade        Point = "tables-made"         // of a read model, and not committed
	IndexOpened       Point = "index-opened"        // or made; the tables beside it may not be
	GenerationMade    Point = "generation-made"     // and not noted as active
	GenerationNoted   Point = "generation-noted"    // what it replaces is given up
	AccountsFile      Point = "accounts-file"       // is there, its tables may not be
	AccountsMade      Point = "accounts-made"       // without a user
	UserMade          Point = "user-made"           // and its password not yet printed
	KeyMade           Point = "key-made"            // that signs tokens
	AddressesWritten  Point = "addresses-written"   // to a file that has yet to take its name
	LeasesForgotten   Point = "leases-forgotten"    // that ran out
	OriginalStaged    Point = "original-staged"     // an upload is written
	OriginalsSynced   Point = "originals-synced"    // the bytes of a request's uploads are durable
	OriginalPlaced    Point = "original-placed"     // one of them has its name
	OriginalsKept     Point = "originals-kept"      // all are durable under their names, and no job knows them
	OriginalRemoved   Point = "original-removed"    // that nothing refers to
	EventsInserted    Point = "events-inserted"     // appends of one commit, before it
	EventsCommitted   Point = "events-committed"    // before any caller has its answer
	JobBegun          Point = "job-begun"           // some of its files are in the log, ImportRequested is not
	FileClaimed       Point = "file-claimed"        // leased, and not begun
	FileStarted       Point = "file-started"        // its event is in the log
	TextKept          Point = "text-kept"           // all of it is read, and nothing appended
	TextAppended      Point = "text-appended"       // a batch of sections
	FolderEnsured     Point = "folder-ensured"      // in which a file is to be filed
	TextEnded         Point = "text-ended"          // and no document names it
	DocumentFiled     Point = "document-filed"      // and the job does not know
	DocumentRevised   Point = "document-revised"    // and the job does not know
	DocumentReplaced  Point = "document-replaced"   // or made in the place of none, and the job does not know
	FileFinished      Point = "file-finished"       // in the log, and its lease is held
	FileFailed        Point = "file-failed"         // the same, of one that cannot be read
	LeaseRenewed      Point = "lease-renewed"       // of a file in work
	LeaseGivenBack    Point = "lease-given-back"    // of a file that was not worked on
	EventsApplied     Point = "events-applied"      // to a read model, and not committed
	EventsPassed      Point = "events-passed"       // the same, committed
	IndexBehind       Point = "index-behind"        // the tables hold what the index is to take or forget
	IndexAhead        Point = "index-ahead"         // it did, and the tables do not know
	IndexForgot       Point = "index-forgot"        // passages, and the tables do not know
	IndexNoted        Point = "index-noted"         // the tables know what it holds
	LabelsBehind      Point = "labels-behind"       // of documents in a folder that was moved
	LabelsNoted       Point = "labels-noted"        // of some of them
	RebuildClaimed    Point = "rebuild-claimed"     // and nothing done
	RebuildBegun      Point = "rebuild-begun"       // a generation is to be filled
	RebuildFilled     Point = "rebuild-filled"      // and not noted as ready
	RebuildReady      Point = "rebuild-ready"       // and is to be taken up
	RebuildReleased   Point = "rebuild-released"    // for others to begin
	BackReady         Point = "back-ready"          // what was kept is to be taken up
	TakeOverReady     Point = "take-over-ready"     // in step with what serves, which it does not yet
	TakenOver         Point = "taken-over"          // a generation serves, what did is kept
	GenerationGivenUp Point = "generation-given-up" // its files are to be deleted
	GenerationRemoved Point = "generation-removed"  // one of its files is
	GenerationCleared Point = "generation-cleared"  // all are, and it is forgotten
	StreamsRemoved    Point = "streams-removed"     // from the log, and not committed
	StreamsGone       Point = "streams-gone"        // the same, committed
	LogShrunk         Point = "log-shrunk"          // to what is left, in its write-ahead log
	ModelDiscarded    Point = "model-discarded"     // nothing serves
)

// All is every point.
var All = []Point{
	LogPrepared, LogMade, OriginalsFolder, StagingSwept, ControlMade, LeasesReleased, TablesMade, IndexOpened,
	GenerationMade, GenerationNoted, AccountsFile, AccountsMade, UserMade, KeyMade, AddressesWritten, LeasesForgotten,
	OriginalStaged, OriginalsSynced, OriginalPlaced, OriginalsKept, OriginalRemoved, EventsInserted, EventsCommitted,
	JobBegun, FileClaimed, FileStarted, TextKept, TextAppended, FolderEnsured, TextEnded, DocumentFiled, DocumentRevised, DocumentReplaced,
	FileFinished, FileFailed, LeaseRenewed, LeaseGivenBack, EventsApplied, EventsPassed, IndexBehind, IndexAhead,
	IndexForgot, IndexNoted, LabelsBehind, LabelsNoted, RebuildClaimed, RebuildBegun, RebuildFilled, RebuildReady,
	RebuildReleased, BackReady, TakeOverReady, TakenOver, GenerationGivenUp, GenerationRemoved, GenerationCleared, StreamsRemoved, StreamsGone, LogShrunk, ModelDiscarded,
}

// Variable is the environment variable that names the point at which to end.
const Variable = "ANNALS_FAILPOINT"
