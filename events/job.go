package events

import "github.com/google/uuid"

// FileAccepted says that an uploaded file is stored and waits to be read. It
// counts once ImportRequested follows in the same stream.
type FileAccepted struct {
	File      int      `json:"file"` // index in the upload, from 0
	Name      string   `json:"name"`
	Folder    string   `json:"folder"` // path of the folder to file it in, as it was then
	Tags      []string `json:"tags,omitempty"`
	SHA256    string   `json:"sha256,omitempty"` // none where the file was refused
	Size      int64    `json:"size"`
	MediaType string   `json:"media_type,omitempty"`
	// Refused says why the file will not be read, as a sentence: an
	// unsupported type, an empty file.
	Refused string `json:"refused,omitempty"`
	// Under is the deepest folder of that path that existed then, and Rest the
	// path from there, of folders still to be made: so the file arrives though
	// the folder is renamed or moved while it waits. Neither is told where
	// none of the path existed, nor by events of earlier releases: the path
	// alone counts then.
	Under uuid.UUID `json:"under,omitzero"`
	Rest  string    `json:"rest,omitempty"`
	// Document is the one that the file is to be the new content of, and
	// Version the one that it replaces; none for files that are imported.
	// Name, Folder and Under are the document's own then.
	// With Replace, Version may be the one that the document must have.
	Document uuid.UUID `json:"document,omitzero"`
	Version  int       `json:"version,omitempty"`
	// Replace says that the file takes the place of the document of its name in
	// the folder: as new content of it, or as a new document where there is none.
	Replace bool `json:"replace,omitempty"`
	// Existing says that there was such a document when the file was accepted, so
	// that no room for another one is taken while the file waits.
	Existing bool `json:"existing,omitempty"`
}

// ImportRequested makes an import job exist: all its files are accepted.
type ImportRequested struct {
	Files int       `json:"files"`
	User  Principal `json:"user"`
	// Groups and Admin are what the user's token said, by which access is
	// judged while the job works.
	Groups []Principal `json:"groups,omitempty"`
	Admin  bool        `json:"admin,omitempty"`
}

// FileStarted says that a worker took a file up.
type FileStarted struct {
	File int `json:"file"`
	// Alone says, where the file is read apart from all others, why that is:
	// how the reader of it ended the last time, or that work on it was cut off
	// again and again.
	Alone string `json:"alone,omitempty"`
}

// FileStepped tells how far the work on a file is; at most one a second.
type FileStepped struct {
	File    int    `json:"file"`
	Step    string `json:"step"` // reading, ocr, splitting, summarising, filing, indexing
	Message string `json:"message,omitempty"`
}

// FileImported says that a file's work ended well.
type FileImported struct {
	File      int       `json:"file"`
	Document  uuid.UUID `json:"document"`
	Title     string    `json:"title"`
	Duplicate bool      `json:"duplicate,omitempty"` // the user could read the same bytes already
	Warnings  []string  `json:"warnings,omitempty"`
	// Outcome is one of those below; none in events of earlier releases.
	Outcome string `json:"outcome,omitempty"`
}

// What an imported file became.
const (
	OutcomeCreated   = "created"   // a new document
	OutcomeUpdated   = "updated"   // new content of a document, or more tags
	OutcomeUnchanged = "unchanged" // a document that was there already, as it is
)

// FileFailed says that a file could not be imported.
type FileFailed struct {
	File  int    `json:"file"`
	Error string `json:"error"` // a sentence for the user
	// Kind says whose fault it is, where it is not the file's own: conflict,
	// forbidden, unavailable or internal, as fault.Kind has it.
	Kind string `json:"kind,omitempty"`
}

// JobFinished says that every file's work has ended.
type JobFinished struct {
	Successful int `json:"successful"`
	Failed     int `json:"failed"`
}

func (FileAccepted) eventType() string    { return "FileAccepted" }
func (ImportRequested) eventType() string { return "ImportRequested" }
func (FileStarted) eventType() string     { return "FileStarted" }
func (FileStepped) eventType() string     { return "FileStepped" }
func (FileImported) eventType() string    { return "FileImported" }
func (FileFailed) eventType() string      { return "FileFailed" }
func (JobFinished) eventType() string     { return "JobFinished" }
