package extract

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"annals/commands/importer/extract/pdfium"
	"annals/events/fault"
)

// maxSections is the most sections of one file that get a title of their
// own; later headings stay in the text, so that a file of nothing but
// headings cannot make millions of events.
const maxSections = 50_000

// Options say how New's Reader works.
type Options struct {
	Limits Limits
	// Command starts a process that reads files: this program and the arguments
	// by which it calls Main with all that follow. Without it files are read in
	// this process, which nothing bounds, and PDFs are refused.
	Command  []string
	CacheDir string // keeps what readers of PDFs compile between runs; empty: nothing is kept
	Workers  int    // most files at a time; 0: as many as cores
	Spare    int    // of Workers, how many do not help with the PDFs of others
}

// mediaTypes are the IANA names of what can be read, by extension.
var mediaTypes = map[string]string{
	".pdf":      "application/pdf",
	".docx":     "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".md":       "text/markdown",
	".markdown": "text/markdown",
	".txt":      "text/plain",
	".text":     "text/plain",
}

// Supported returns the media type of files so named, without parameters,
// and whether they can be read. The extension decides, in any case.
func Supported(name string) (mediaType string, ok bool) {
	mediaType, ok = mediaTypes[extension(name)]
	return mediaType, ok
}

// IsXML reports whether files so named hold their text as compressed XML.
func IsXML(name string) bool { return extension(name) == ".docx" }

// NameFor returns a name under which a file of a media type can be read: the
// given one, with an extension of that type if its own is not known.
func NameFor(name, mediaType string) string {
	if _, ok := Supported(name); ok {
		return name
	}
	for _, ext := range Extensions() {
		if mediaTypes[ext] == mediaType {
			return name + ext
		}
	}
	return name
}

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Extensions returns the extensions of all files that can be read, sorted,
// each with its dot.
func Extensions() []string {
	var all []string
	for ext := range mediaTypes {
		all = append(all, ext)
	}
	slices.Sort(all)
	return all
}

// format reads one kind of file. It fills the Info's title only with what
// the file itself says.
type format func(ctx context.Context, f *file, w *sectionWriter) (Info, error)

// file is the file that is being read.
type file struct {
	*os.File
	name     string
	size     int64
	limits   Limits
	progress Progress
	nuls     int64 // found in its text, which has spaces for them
}

// New returns a Reader of every format that Supported names.
func New(o Options) Reader {
	o.Limits.Pages = cmp.Or(o.Limits.Pages, 5_000)
	o.Limits.TextBytes = cmp.Or(o.Limits.TextBytes, 1<<30)
	o.Limits.Time = cmp.Or(o.Limits.Time, 10*time.Minute)
	o.Limits.Memory = cmp.Or(o.Limits.Memory, pdfium.DefaultMemory)
	if len(o.Command) > 0 {
		return newPooled(o)
	}
	return &reader{limits: o.Limits, formats: formats(func(context.Context, *file, *sectionWriter) (Info, error) {
		return Info{}, fault.Errorf(fault.Unavailable, "no command is configured that reads PDFs")
	})}
}

// formats returns how each media type is read, PDFs by pdf.
func formats(pdf format) map[string]format {
	return map[string]format{
		mediaTypes[".pdf"]:  pdf,
		mediaTypes[".docx"]: readDOCX,
		mediaTypes[".md"]:   readMarkdown,
		mediaTypes[".txt"]:  readText,
	}
}

// reader reads files in this process.
type reader struct {
	limits  Limits
	formats map[string]format // by media type
}

func (r *reader) Close() error { return nil }

func (r *reader) Read(ctx context.Context, path, name string, emit func(Section) error, progress Progress) (Info, error) {
	if _, err := mediaTypeOf(name); err != nil {
		return Info{}, err
	}
	osFile, err := os.Open(path)
	if err != nil {
		return Info{}, fmt.Errorf("open %s to read it: %w", name, err)
	}
	defer osFile.Close()
	timed, cancel := context.WithTimeoutCause(ctx, r.limits.Time, errTooSlow)
	defer cancel()
	info, err := r.readFile(timed, osFile, name, emit, progress)
	if err != nil && context.Cause(timed) == errTooSlow && errors.Is(err, context.DeadlineExceeded) {
		err = r.limits.tooSlow()
	}
	return info, err
}

// mediaTypeOf returns what Supported does, or a sentence.
func mediaTypeOf(name string) (string, error) {
	mediaType, ok := Supported(name)
	if !ok {
		return "", fault.Errorf(fault.Invalid, "files of type %q cannot be read, only %s", extension(name), strings.Join(Extensions(), ", "))
	}
	return mediaType, nil
}

func (l Limits) tooSlow() error {
	return fault.Errorf(fault.Invalid, "reading the file took longer than %s (--extract-time)", l.Time)
}

// readFile reads an open file.
func (r *reader) readFile(ctx context.Context, osFile *os.File, name string, emit func(Section) error, progress Progress) (Info, error) {
	mediaType, err := mediaTypeOf(name)
	if err != nil {
		return Info{}, err
	}
	if progress == nil {
		progress = func(string, int, int) {}
	}
	f := &file{File: osFile, name: name, limits: r.limits, progress: progress}
	if err := f.check(mediaType); err != nil {
		return Info{}, err
	}
	progress("reading", 0, 0)
	w := newSectionWriter(emit, r.limits.TextBytes)
	w.bound(f.size)
	info, err := r.formats[mediaType](ctx, f, w)
	err = unlessFull(err)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return Info{}, err
	}
	info.MediaType = mediaType
	info.Sections = w.Sections()
	info.Title = cleanTitle(info.Title)
	if info.Title == "" {
		info.Title = titleOfName(name)
	}
	if f.nuls > 0 {
		info.Warnings = append(info.Warnings, fmt.Sprintf("The file holds zero bytes where text should be (%d in all); they are read as spaces.", f.nuls))
	}
	info.Warnings = append(info.Warnings, w.warnings()...)
	if info.Sections == 0 && len(info.Warnings) == 0 {
		info.Warnings = append(info.Warnings, "No text was found in the file.")
	}
	return info, nil
}

var errTooSlow = errors.New("the time for reading one file is over")

// check refuses what is empty, and what plainly is something else than its
// name says. Such a file is not read for what it is, because it will be
// served under the type of its name.
func (f *file) check(mediaType string) error {
	stat, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", f.name, err)
	}
	f.size = stat.Size()
	if f.size == 0 {
		return fault.Errorf(fault.Invalid, "the file is empty")
	}
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	what := kindOf(head[:n])
	switch ext := extension(f.name); {
	case what == "" || what == mediaTypeNames[mediaType]:
		return nil
	case what == "an old Word document or a Word document with a password" && mediaType == mediaTypes[".docx"]:
		return fault.Errorf(fault.Invalid, "the file is an old Word document or has a password: save it as .docx without one")
	default:
		return fault.Errorf(fault.Invalid, "the file is named %s but is %s", ext, what)
	}
}

// mediaTypeNames says what kindOf calls the formats that it can tell.
var mediaTypeNames = map[string]string{
	mediaTypes[".pdf"]:  "a PDF",
	mediaTypes[".docx"]: "a ZIP archive or Office document",
}

// kindOf names what begins with head, by the first bytes that its format
// always begins with, or returns "".
func kindOf(head []byte) string {
	for _, k := range []struct{ magic, what string }{
		{"%PDF-", "a PDF"},
		{"PK\x03\x04", "a ZIP archive or Office document"},
		{"PK\x05\x06", "a ZIP archive or Office document"},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word document or a Word document with a password"},
		{"{\\rtf", "a Rich Text document"},
		{"\x89PNG\r\n\x1a\n", "a PNG image"},
		{"\xff\xd8\xff", "a JPEG image"},
		{"GIF87a", "a GIF image"},
		{"GIF89a", "a GIF image"},
		{"\x1f\x8b\x08", "a gzip archive"},
		{"\x28\xb5\x2f\xfd", "a Zstandard archive"},
		{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
		{"\x7fELF", "a program"},
		{"SQLite format 3\x00", "an SQLite database"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.what
		}
	}
	return ""
}

// titleOfName makes a title of a file's name: without folder and extension,
// and with spaces for underscores where the name has no spaces of its own.
func titleOfName(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	base := name[strings.LastIndexByte(name, '/')+1:]
	title := strings.TrimSuffix(base, filepath.Ext(base))
	if !strings.Contains(title, " ") {
		title = strings.ReplaceAll(title, "_", " ")
	}
	return cmp.Or(cleanTitle(title), base)
}
