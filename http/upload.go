package http

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
	"annals/commands/quota"
	"annals/events/fault"
)

// upload is one request to import files, while it is read. Files go to the
// store as they come; no more than file_metadata is held in memory.
type upload struct {
	*Server
	*call
	Intake

	inQuery, inFiles, inMetadata faults // inQuery has those of the headers, too

	before *commands.KeyedImport // the job of an earlier request with the same key; nil: there is none
	place  *quota.Hold           // of a repeated request, which takes nothing

	body     io.LimitedReader
	parts    int
	texts    int // entries of the field "files" that are no files
	metadata []entry
	given    bool // there was file_metadata
	checked  bool // the folders of metadata may be written to
}

// Bounds of a multipart body beside the configured ones.
const (
	maxExtraParts = 1000    // fields that are not files
	maxEpilogue   = 1 << 20 // bytes behind the last part
	leniency      = 64 << 20
	readBuffer    = 64 << 10
)

// What FastAPI tells of a body that cannot be read, and of a part of it.
var (
	errMultipart = &statusError{http.StatusBadRequest, "Invalid multipart data."}
	errNoName    = &statusError{http.StatusBadRequest, `The Content-Disposition header field "name" must be provided.`}
)

// read takes the whole body in.
func (u *upload) read() error {
	media, params, _ := mime.ParseMediaType(u.Header.Get("Content-Type"))
	if media != "multipart/form-data" {
		return nil // so that there are no files, which check tells
	}
	if params["boundary"] == "" {
		return &statusError{http.StatusBadRequest, "Missing boundary in multipart."}
	}
	u.body = io.LimitedReader{R: u.Body, N: u.Limits.UploadBytes}
	// The reader of parts takes 4 KiB at a time, so that without a buffer
	// before it every one is a system call.
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
			return nil // enough was read for check to tell why
		}
		if err != nil {
			return u.because(err)
		}
	}
	// Until the end was read nobody notices that the client left.
	if n, err := io.CopyN(io.Discard, &u.body, maxEpilogue); err != io.EOF {
		return fmt.Errorf("%w: %d bytes behind the last part", errMultipart, n)
	}
	return nil
}

// endsEarly reports whether a body ended where nothing of it was whole yet, so
// that it carries no files, as check will tell. One that was cut off behind
// that is a fault: what came is not all that was sent.
func (u *upload) endsEarly(err error) bool {
	atEnd := u.body.N > 0 && errors.As(err, new(*readError)) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
	begun := u.parts > 0 || u.body.N == u.Limits.UploadBytes // a part, or nothing at all
	return atEnd && begun && len(u.Files)+u.texts == 0 && !u.given
}

// because returns the fault behind an error of reading the body.
func (u *upload) because(err error) error {
	switch {
	case u.body.N <= 0:
		return fault.Errorf(fault.TooLarge, "one upload may have at most %d bytes", u.Limits.UploadBytes)
	case errors.As(err, new(*readError)):
		return fmt.Errorf("%w: %w", errMultipart, err)
	}
	return err
}

// refused reports whether it is known that the request will not do. Then no
// more is stored, and little more is read, to find its other faults.
func (u *upload) refused() bool {
	return len(u.inQuery)+len(u.inFiles)+len(u.inMetadata) > 0
}

func (u *upload) part(p *multipart.Part) error {
	if u.refused() {
		u.body.N = min(u.body.N, leniency)
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
		u.inMetadata.add("string_type", "Input should be a valid string", map[string]any{"filename": name}, nil, metadataLoc...)
	case field == "file_metadata":
		return u.describe(p)
	default:
		u.inFiles.unknown(strings.ToValidUTF8(field, "\uFFFD"), nil, []string{"files", "file_metadata"}, []any{"body"})
	}
	return nil // the next part goes over it
}

// text takes an entry of "files" that has no file name.
func (u *upload) text(p *multipart.Part) error {
	b, err := io.ReadAll(io.LimitReader(p, maxEcho))
	if err != nil {
		return &readError{err}
	}
	u.inFiles.add("value_error", "Value error, Expected UploadFile, received: <class 'str'>", strings.ToValidUTF8(string(b), "\uFFFD"),
		map[string]any{"error": map[string]any{}}, "body", "files", len(u.Files)+u.texts)
	u.texts++
	return nil
}

// file stores one file, or notes why it will not be read; then it is gone
// over, and the others go on.
func (u *upload) file(name string, p *multipart.Part) error {
	if len(u.Files) == u.Limits.Files {
		return fault.Errorf(fault.TooLarge, "one upload may have at most %s", count(u.Limits.Files, "file"))
	}
	content := &partReader{r: p}
	if name == "" { // a form without a file chosen
		_, err := io.Copy(io.Discard, content)
		return err
	}
	if u.refused() {
		// It counts; the next part goes over it.
		u.Files = append(u.Files, commands.Upload{})
		return nil
	}
	err := u.Add(u.Context(), name, content)
	if content.err != nil {
		return content.err
	}
	if err == nil {
		u.compare(len(u.Files) - 1)
	}
	return err
}

// discard throws away what was stored and not accepted.
func (u *upload) discard() {
	u.place.Close()
	if err := u.Discard(); err != nil {
		u.log(u.Request, fmt.Errorf("discard an upload: %w", err))
	}
}

// check judges the upload as a whole, once everything of it is known, and
// files every file where it belongs.
func (u *upload) check() error {
	if len(u.Files)+u.texts == 0 {
		u.inFiles.add("missing", "Field required", nil, nil, "body", "files")
	}
	if u.given && len(u.inFiles)+len(u.inMetadata) == 0 {
		u.inMetadata.length(len(u.metadata), len(u.Files))
	}
	all := append(append(u.inQuery, u.inFiles...), u.inMetadata...)
	if err := all.err(); err != nil {
		return err
	}
	if !u.given {
		u.metadata = make([]entry, len(u.Files))
		for i := range u.metadata {
			u.metadata[i].folder = commands.InboxFolder(u.user)
		}
	}
	if err := u.checkAccess(); err != nil {
		return err
	}
	for i, e := range u.metadata {
		f := &u.Files[i]
		f.Folder, f.Tags, f.Replace, f.Version = e.folder, e.tags, e.replace, e.version
		if e.refused != "" {
			u.Files[i].Refuse(e.refused)
		}
	}
	return nil
}

// checkAccess asks once whether the caller may write to every folder.
func (u *upload) checkAccess() error {
	if u.checked || u.before != nil {
		return nil
	}
	seen := map[string]bool{}
	var folders []string
	for _, e := range u.metadata {
		if !seen[e.folder] && e.refused == "" {
			seen[e.folder] = true
			folders = append(folders, e.folder)
		}
	}
	err := u.Commands.CheckImport(u.Context(), u.user, folders)
	if fault.Is(err, fault.Invalid) {
		_, text := describe(err)
		err = &invalid{[]validationFault{valueError(metadataLoc, text, nil)}}
	}
	u.checked = err == nil
	return err
}

// readError is a failure of the client's connection or of the body's form.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// wholeBody is a multipart body whose end is an error unless it is that of the
// last part: to mime/multipart one that is cut behind a boundary looks whole.
type wholeBody struct {
	io.Reader
	end  []byte // the line behind the last part
	tail []byte // of what was read, no longer than end
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

// partReader remembers how reading failed, so that this is told from a
// failure of the store that reads it. It fills what it is given, so that the
// store writes as much at a time as it likes to.
type partReader struct {
	r   io.Reader
	err error
}

func (r *partReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	for n < len(p) && err == nil {
		var more int
		more, err = r.r.Read(p[n:])
		n += more
	}
	if err != nil && err != io.EOF {
		r.err = &readError{err}
		err = r.err
	}
	return n, err
}
