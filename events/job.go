package events

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// FileAccepted says that an uploaded file is stored and waits to be read. It takes
// effect after ImportRequested has followed in the same stream.
type FileAccepted struct {
	File      int      `json:"file"` // index in the upload, from 0
	Name      string   `json:"name"`
	Folder    string   `json:"folder"` // path that the target folder had at that time
	Tags      []string `json:"tags,omitempty"`
	SHA256    string   `json:"sha256,omitempty"` // empty if the file was refused
	Size      int64    `json:"size"`
	MediaType string   `json:"media_type,omitempty"`
	// Refused is the reason why the file will not be read, as a sentence, for example an
	// unsupported type or an empty file.
	Refused string `json:"refused,omitempty"`
	// Under is the deepest folder on the path that existed at that time, and Rest the
	// rest of the path: the folders to create. They place the file correctly even if the
	// folder Under is renamed or moved in the meantime. Both are empty if no folder on
	// the path existed, and in events of earlier releases; then the file is placed by its
	// path.
	Under uuid.UUID `json:"under,omitzero"`
	Rest  string    `json:"rest,omitempty"`
	// Document is the document that gets the file as new content, and Version is the
	// version that this content replaces. Name, Folder and Under are then those of the
	// document. Both are empty if the file becomes a new document. With Replace, only
	// Version may be set: the version that the document to replace must have.
	Document uuid.UUID `json:"document,omitzero"`
	Version  int       `json:"version,omitempty"`
	// Replace means that the file becomes new content of the document in the folder with
	// the same name, or a new document if no such document exists.
	Replace bool `json:"replace,omitempty"`
	// Existing means that, when the file was accepted, the document to replace
	// existed: the file then reserves no quota for a new document.
	Existing bool `json:"existing,omitempty"`
	// Reread means that the original of the document is read again. SHA256, Size and
	// MediaType are those of its content, which Version or an earlier version introduced.
	Reread bool `json:"reread,omitempty"`
}

// ImportRequested creates an import job. It follows the FileAccepted events of all its
// files.
type ImportRequested struct {
	Files int       `json:"files"`
	User  Principal `json:"user"`
	// Groups and Admin are from the user's token; the job's access is checked
	// against them.
	Groups []Principal `json:"groups,omitempty"`
	Admin  bool        `json:"admin,omitempty"`
}

// FileStarted says that a worker began to process a file.
type FileStarted struct {
	File int `json:"file"`
	// Alone is set if the file is read in a new process that reads no other file. It
	// says why: how the file's last reader process ended, or that its processing was
	// interrupted repeatedly.
	Alone string `json:"alone,omitempty"`
}

// FileStepped reports the progress of a file, at most one time a second.
type FileStepped struct {
	File    int    `json:"file"`
	Step    string `json:"step"` // reading, ocr, splitting, summarising, filing, indexing
	Message string `json:"message,omitempty"`
}

// FileImported says that a file was imported.
type FileImported struct {
	File      int       `json:"file"`
	Document  uuid.UUID `json:"document"`
	Title     string    `json:"title"`
	Duplicate bool      `json:"duplicate,omitempty"` // the user could read the same bytes already
	Warnings  []string  `json:"warnings,omitempty"`
	// Outcome is one of the constants below; empty in events of earlier releases.
	Outcome string `json:"outcome,omitempty"`
}

// ViaReread is the part of the program in Metadata.Via of the events of a job that reads
// documents again.
const ViaReread = "reread"

// restoreOf begins the part of the program in Metadata.Via of the events of a job that
// restores a deleted document, and of those that the job causes. The id of the document
// follows.
const restoreOf = "restore of "

// ViaRestore returns the part of the program in Metadata.Via of the events of a job that
// restores a deleted document.
func ViaRestore(document uuid.UUID) string { return restoreOf + document.String() }

// RestoredIn returns the document that a job restores, given the Metadata.Via of the job's
// events. ok is false for other jobs.
func RestoredIn(via string) (document uuid.UUID, ok bool) {
	text, found := strings.CutPrefix(PartIn(via), restoreOf)
	document, err := uuid.Parse(text)
	return document, found && err == nil
}

// MaxRestores limits how often a deleted document can be restored, if its jobs fail or if
// what they restored is deleted as well.
const MaxRestores = 16

// RestoreJobs returns the ids of the jobs that restore a deleted document, in the order in
// which they are started. Each is started only once, so two requests cannot restore the
// document twice.
func RestoreJobs(document uuid.UUID) []uuid.UUID {
	jobs := make([]uuid.UUID, MaxRestores)
	for n := range jobs {
		jobs[n] = uuid.NewSHA1(document, []byte("restore "+strconv.Itoa(n)))
	}
	return jobs
}

// Values of FileImported.Outcome.
const (
	OutcomeCreated   = "created"   // a new document
	OutcomeUpdated   = "updated"   // new content of a document, another text of the same content, or more tags
	OutcomeUnchanged = "unchanged" // an existing document, not changed
)

// FileFailed says that a file could not be imported.
type FileFailed struct {
	File  int    `json:"file"`
	Error string `json:"error"` // a sentence for the user
	// Kind is the fault.Kind of the cause, if the cause is not the file itself:
	// conflict, forbidden, unavailable or internal.
	Kind string `json:"kind,omitempty"`
}

// JobFinished says that every file was imported or failed.
type JobFinished struct {
	Successful int `json:"successful"`
	Failed     int `json:"failed"`
}

func init() {
	register[FileAccepted](1)
	register[ImportRequested](1)
	register[FileStarted](1)
	register[FileStepped](1)
	register[FileImported](1)
	register[FileFailed](1)
	register[JobFinished](1)
}

func (FileAccepted) eventType() string    { return "FileAccepted" }
func (ImportRequested) eventType() string { return "ImportRequested" }
func (FileStarted) eventType() string     { return "FileStarted" }
func (FileStepped) eventType() string     { return "FileStepped" }
func (FileImported) eventType() string    { return "FileImported" }
func (FileFailed) eventType() string      { return "FileFailed" }
func (JobFinished) eventType() string     { return "JobFinished" }
