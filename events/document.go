package events

import "github.com/google/uuid"

// SectionExtracted holds one section of a document's text, or one part of a
// section that is longer than 64 KiB. It has no effect until an event of a
// document names its stream.
type SectionExtracted struct {
	Index     int      `json:"index"`                // of the section in the document, from 0
	Part      int      `json:"part,omitempty"`       // of the section's text, from 0
	Level     int      `json:"level"`                // depth of the section's title from 1; 0 for text before the first title
	Title     string   `json:"title,omitempty"`      //
	Path      []string `json:"path,omitempty"`       // section titles from the outermost to that of this section
	StartPage int      `json:"start_page,omitempty"` // of this part, from 1; 0 means that the document has no pages
	EndPage   int      `json:"end_page,omitempty"`   //
	// PageBreaks[i] is the byte offset in Text at which page StartPage+1+i begins.
	PageBreaks []int  `json:"page_breaks,omitempty"`
	Text       string `json:"text"` // Markdown, without the title's own line
	// OCR is set if some of the title or text was recognised in a picture of the page.
	// Confidence is then the mean confidence of the recognised words, above 0 and at most 1.
	OCR        bool    `json:"ocr,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
}

// Content describes what was read from a document's file.
type Content struct {
	SHA256     string `json:"sha256"`          // of the original, in hex
	Size       int64  `json:"size"`            // of the original, in bytes
	MediaType  string `json:"media_type"`      //
	Title      string `json:"title"`           //
	Pages      int    `json:"pages,omitempty"` // 0 means that the document has no pages
	TextStream string `json:"text_stream"`     // the stream of the sections, which were appended before this event
	Sections   int    `json:"sections"`        // number of sections, not of parts
	Extractor  int    `json:"extractor"`       // version of the extractor that read the file
	// TextBytes is the size of the SectionExtracted events in bytes; 0 in events of
	// releases that did not have this field.
	TextBytes int64 `json:"text_bytes,omitempty"`
	// Description is one line and Summary a few sentences, both taken from
	// the text.
	Description string   `json:"description,omitempty"`
	Summary     string   `json:"summary,omitempty"`
	Warnings    []string `json:"warnings,omitempty"` // parts of the file that could not be read, as sentences
	// OCRPages is the number of pages that were recognised, in whole or in part, in pictures
	// of them; Confidence is the mean confidence of their words, above 0 and at most 1.
	OCRPages   int     `json:"ocr_pages,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
	// UnreadPages is the number of pages that look scanned and were not read. A service that
	// can recognise text may read them later.
	UnreadPages int `json:"unread_pages,omitempty"`
}

// textCopies is the number of stored copies of a text: in the log, in the read model
// passages, and in the search index.
const textCopies = 3

// TextStored returns how many bytes the service stores for a text of the given size,
// including all copies.
func TextStored(bytes int64) int64 { return textCopies * bytes }

// Stored returns how many bytes the service stores for the content: the original, and
// its text.
func (c Content) Stored() int64 { return c.Size + TextStored(c.TextBytes) }

// ContentOf returns the new content of the document after an event; ok is false if the
// event does not change the content.
func ContentOf(data Data) (c Content, ok bool) {
	switch d := data.(type) {
	case DocumentImported:
		return d.Content, true
	case DocumentRevised:
		return d.Content, true
	case DocumentReread:
		return d.Content, true
	}
	return Content{}, false
}

// DocumentImported creates a document together with its text.
type DocumentImported struct {
	Version int       `json:"version"` // 1
	Folder  uuid.UUID `json:"folder"`
	Name    string    `json:"name"` // the file's name
	Tags    []string  `json:"tags,omitempty"`
	Content
}

// DocumentRenamed says that a document got a new name.
type DocumentRenamed struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
}

// DocumentMoved says that a document was filed in another folder.
type DocumentMoved struct {
	Version int       `json:"version"`
	Folder  uuid.UUID `json:"folder"`
}

// DocumentTagged holds the full list of a document's tags from now on.
type DocumentTagged struct {
	Version int      `json:"version"`
	Tags    []string `json:"tags"`
}

// DocumentRevised gives a document new content.
type DocumentRevised struct {
	Version int `json:"version"`
	Content
}

// DocumentReread says that a newer extractor has read the unchanged original again.
type DocumentReread struct {
	Version int `json:"version"`
	Content
}

// DocumentDeleted ends a document. Its earlier events stay.
type DocumentDeleted struct {
	Version int `json:"version"`
}

func init() {
	register[SectionExtracted](1)
	register[DocumentImported](1)
	register[DocumentRenamed](1)
	register[DocumentMoved](1)
	register[DocumentTagged](1)
	register[DocumentRevised](1)
	register[DocumentReread](1)
	register[DocumentDeleted](1)
}

func (SectionExtracted) eventType() string { return "SectionExtracted" }
func (DocumentImported) eventType() string { return "DocumentImported" }
func (DocumentRenamed) eventType() string  { return "DocumentRenamed" }
func (DocumentMoved) eventType() string    { return "DocumentMoved" }
func (DocumentTagged) eventType() string   { return "DocumentTagged" }
func (DocumentRevised) eventType() string  { return "DocumentRevised" }
func (DocumentReread) eventType() string   { return "DocumentReread" }
func (DocumentDeleted) eventType() string  { return "DocumentDeleted" }
