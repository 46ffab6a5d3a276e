package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"annals/commands"
	"annals/commands/naming"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/http/problem"

	"github.com/google/uuid"
)

// Upload is one request to import files. The files are streamed to the store; only
// file_metadata is kept in memory.
type Upload struct {
	*http.Request
	Intake
	User     events.User
	Commands Commands
	Limits   Limits
	Query    problem.Fields // errors in the query and the headers

	// PlaceOf looks up a path as shown to the caller. It returns the deepest existing folder on it, and
	// the path below that folder; uuid.Nil if it is no such path. Its error is fault.Forbidden if the
	// caller may not write there.
	PlaceOf func(path string) (under uuid.UUID, rest string, err error)

	inFiles, inMetadata problem.Fields

	before *commands.KeyedImport // the job of an earlier request with the same key; nil if there is none
	repeat *quota.Hold           // of a request with before, which does not use Hold

	body     io.LimitedReader
	parts    int
	texts    int // fields named "files" that contain text instead of a file
	metadata []entry
	given    bool // whether file_metadata was sent
	checked  bool // whether write access to the folders in metadata was checked
}

// Limits are the maximum sizes of an upload.
type Limits struct {
	Files         int
	UploadBytes   int64 // of the whole body
	MetadataBytes int64 // of file_metadata
}

// Receive reads the upload and accepts it as a job, or returns the job of an earlier request
// with the same key. If it returns no error, the upload is durable in the log. If it fails,
// the upload has no effect.
func (u *Upload) Receive() (started commands.Started, err error) {
	u.Replaces = func(file int) bool { return !u.given || file < len(u.metadata) && u.metadata[file].replace } // as long as file_metadata is missing, any file may replace a document
	if err := u.recognise(); err != nil {
		return started, err
	}
	if u.before == nil {
		u.Hold, err = u.Commands.HoldImport(u.Context(), u.User)
	} else {
		u.repeat, err = u.Commands.HoldRepeat(u.Context(), u.User)
	}
	if err == nil {
		err = u.read()
	}
	if err == nil {
		err = u.check()
	}
	if err != nil {
		return started, err
	}
	return u.start()
}

// Limits of a multipart body besides those in Limits.
const (
	maxExtraParts = 1000     // fields besides the files
	maxEpilogue   = 1 << 20  // bytes after the closing boundary
	maxAfterError = 64 << 20 // bytes that are read after the first error, to report further errors
	readBuffer    = 64 << 10
)

// The same errors as FastAPI's for a malformed body and a malformed part.
var (
	errMultipart = &problem.Error{Status: http.StatusBadRequest, Text: "Invalid multipart data."}
	errNoName    = &problem.Error{Status: http.StatusBadRequest, Text: `The Content-Disposition header field "name" must be provided.`}
)

// read reads the whole body. Errors in its fields are kept for check.
func (u *Upload) read() error {
	media, params, _ := mime.ParseMediaType(u.Header.Get("Content-Type"))
	if media != "multipart/form-data" {
		return nil // check reports that there are no files
	}
	if params["boundary"] == "" {
		return &problem.Error{Status: http.StatusBadRequest, Text: "Missing boundary in multipart."}
	}
	u.body = io.LimitedReader{R: u.Body, N: u.Limits.UploadBytes}
	// The multipart reader reads 4 KiB at a time. Without a buffer each read would be a
	// system call.
	body := &wholeBody{Reader: bufio.NewReaderSize(&u.body, readBuffer), end: []byte("--" + params["boundary"] + "--")}
	parts := multipart.NewReader(body, params["boundary"])
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			err = &readError{err}
		} else {
			err = u.part(p)
		}
		if err != nil && (u.refused() || u.endsEarly(err)) {
			return nil // check reports the errors
		}
		if err != nil {
			return u.bodyError(err)
		}
	}
	// Reading beyond the closing boundary detects a client that has disconnected.
	if n, err := io.CopyN(io.Discard, &u.body, maxEpilogue); err != io.EOF {
		return fmt.Errorf("%w: %d bytes after the last part", errMultipart, n)
	}
	return nil
}

// endsEarly reports whether a body ended before its first part was complete. Like FastAPI,
// check then reports that there are no files. A body that ends later without its closing
// boundary is an error.
func (u *Upload) endsEarly(err error) bool {
	atEnd := u.body.N > 0 && errors.As(err, new(*readError)) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
	begun := u.parts > 0 || u.body.N == u.Limits.UploadBytes // whether a part has begun or the body is empty
	return atEnd && begun && len(u.Files)+u.texts == 0 && !u.given
}

// bodyError returns the error for a body that cannot be read: it is too large, malformed, or
// cannot be stored.
func (u *Upload) bodyError(err error) error {
	switch {
	case u.body.N <= 0:
		return fault.Errorf(fault.TooLarge, "one upload may have at most %d bytes", u.Limits.UploadBytes)
	case errors.As(err, new(*readError)):
		return fmt.Errorf("%w: %w", errMultipart, err)
	}
	return err
}

// refused reports whether an error was found in the request. From then on no more files are
// stored, and up to maxAfterError bytes are read to find further errors.
func (u *Upload) refused() bool {
	return len(u.Query)+len(u.inFiles)+len(u.inMetadata) > 0
}

func (u *Upload) part(p *multipart.Part) error {
	if u.refused() {
		u.body.N = min(u.body.N, maxAfterError)
	}
	if u.parts++; u.parts > u.Limits.Files+maxExtraParts {
		return fault.Errorf(fault.TooLarge, "one upload may have at most %d fields", u.Limits.Files+maxExtraParts)
	}
	_, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	field, named := params["name"]
	if err != nil || !named {
		return errNoName
	}
	name, isFile := params["filename"]
	switch {
	case field == "files" && isFile:
		return u.file(name, p)
	case field == "files":
		return u.text(p)
	case field == "file_metadata" && isFile:
		u.inMetadata.Add("string_type", "Input should be a valid string", map[string]any{"filename": name}, nil, metadataLoc...)
	case field == "file_metadata":
		return u.describe(p)
	default:
		u.inFiles.Unknown(strings.ToValidUTF8(field, "\uFFFD"), nil, []string{"files", "file_metadata"}, []any{"body"})
	}
	return nil // the next NextRawPart skips the content of this part
}

// text adds the error for a field named "files" that contains text instead of a file.
func (u *Upload) text(p *multipart.Part) error {
	b, err := io.ReadAll(io.LimitReader(p, problem.MaxEcho))
	if err != nil {
		return &readError{err}
	}
	u.inFiles.Add("value_error", "Value error, Expected UploadFile, received: <class 'str'>", strings.ToValidUTF8(string(b), "\uFFFD"),
		map[string]any{"error": map[string]any{}}, "body", "files", len(u.Files)+u.texts)
	u.texts++
	return nil
}

// file stores one file. If the file is refused, it records the reason and skips the content.
func (u *Upload) file(name string, p *multipart.Part) error {
	if len(u.Files) == u.Limits.Files {
		return fault.Errorf(fault.TooLarge, "one upload may have at most %s", FileCount(u.Limits.Files))
	}
	content := &BodyReader{R: p}
	if name == "" { // a form in which no file was chosen
		_, err := io.Copy(io.Discard, content)
		return err
	}
	if u.refused() {
		// Count the file but do not store it. The next NextRawPart skips its content.
		u.Files = append(u.Files, commands.Upload{})
		return nil
	}
	err := u.Add(u.Context(), name, content)
	if err := content.Err(); err != nil {
		return err
	}
	if err == nil {
		u.compare(len(u.Files) - 1)
	}
	return err
}

// Discard deletes the files that were stored but not accepted. It releases the quota that is
// reserved for the upload.
func (u *Upload) Discard() error {
	u.repeat.Close()
	return u.Intake.Discard()
}

// check validates the upload after the whole body was read, and sets the folder and tags of
// each file.
func (u *Upload) check() error {
	if len(u.Files)+u.texts == 0 {
		u.inFiles.Add("missing", "Field required", nil, nil, "body", "files")
	}
	if u.given && len(u.inFiles)+len(u.inMetadata) == 0 {
		checkLength(&u.inMetadata, len(u.metadata), len(u.Files))
	}
	all := append(append(u.Query, u.inFiles...), u.inMetadata...)
	if err := all.Err(); err != nil {
		return err
	}
	if !u.given {
		u.metadata = make([]entry, len(u.Files))
		for i := range u.metadata {
			u.metadata[i].folder = naming.InboxFolder(u.User)
		}
	}
	if err := u.checkAccess(); err != nil {
		return err
	}
	for i, e := range u.metadata {
		f := &u.Files[i]
		f.Folder, f.Tags, f.Replace, f.Version, f.Under, f.Rest = e.folder, e.tags, e.replace, e.version, e.under, e.rest
		if e.refused != "" {
			u.Files[i].Refuse(e.refused)
		}
	}
	return nil
}

// checkAccess checks once that the caller may write to the folders of all files.
func (u *Upload) checkAccess() error {
	if u.checked || u.before != nil {
		return nil
	}
	type request struct {
		folder string
		shown  bool
	}
	seen := map[request]entry{}
	var folders []string
	for i := range u.metadata {
		e := &u.metadata[i]
		if e.refused != "" {
			continue
		}
		q := request{e.folder, e.shown}
		first, again := seen[q]
		if !again {
			first = *e
			if e.shown {
				var err error
				if first.under, first.rest, err = u.PlaceOf(e.folder); err != nil {
					return err
				}
			}
			if first.under == uuid.Nil {
				folders = append(folders, e.folder)
			}
			seen[q] = first
		}
		e.under, e.rest = first.under, first.rest
	}
	err := u.Commands.CheckImport(u.Context(), u.User, folders)
	if fault.Is(err, fault.Invalid) {
		_, text := problem.Describe(err)
		err = &problem.Invalid{Fields: []problem.Field{problem.ValueError(metadataLoc, text, nil)}}
	}
	u.checked = err == nil
	return err
}

// readError is an error from reading the body: the connection failed, or the multipart format
// is wrong.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// wholeBody is a multipart body that must end with the closing boundary. mime/multipart would
// also accept a body that ends after any other boundary.
type wholeBody struct {
	io.Reader
	end  []byte // the closing boundary
	tail []byte // the last len(end) bytes that were read
}

func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.tail = append(b.tail, p[max(0, n-len(b.end)):n]...)
	b.tail = append(b.tail[:0], b.tail[max(0, len(b.tail)-len(b.end)):]...)
	if err == io.EOF && !bytes.Equal(b.tail, b.end) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// BodyReader reads the body of a request. It keeps read errors, so that they can be
// distinguished from errors of the store. It fills each buffer completely, so that the store
// writes large blocks.
type BodyReader struct {
	R   io.Reader
	err error
}

// Err returns the error from reading the body, or nil. The end of the body is not an error.
func (r *BodyReader) Err() error { return r.err }

func (r *BodyReader) Read(p []byte) (int, error) {
	n, err := r.R.Read(p)
	for n < len(p) && err == nil {
		var more int
		more, err = r.R.Read(p[n:])
		n += more
	}
	if err != nil && err != io.EOF {
		r.err = &readError{err}
		err = r.err
	}
	return n, err
}

// FileCount returns a number with the word file or files, such as "1 file".
func FileCount(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
