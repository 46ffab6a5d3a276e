package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"strings"
	"unicode/utf8"

	"annals/commands/naming"
	"annals/events/fault"
	"annals/events/lookalike"
	"annals/http/form"
	"annals/http/problem"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"
)

// entry is the element of file_metadata that describes one file.
type entry struct {
	folder  string
	tags    []string
	replace bool   // whether the file replaces the document with the same name in folder
	version int    // expected version of the document that is replaced; 0 for any
	refused string // why the folder's path is invalid, regardless of access rights; "" if it is valid

	// shown is true if folder may be a path as shown to the caller. If it is, checkAccess sets under
	// and rest.
	shown bool
	under uuid.UUID
	rest  string
}

var metadataLoc = []any{"body", "file_metadata"}

// describe reads the field file_metadata. If it precedes the files, describe checks write
// access before any file is stored.
func (u *Upload) describe(p *multipart.Part) error {
	text, err := io.ReadAll(io.LimitReader(p, u.Limits.MetadataBytes+1))
	if err != nil {
		return &readError{err}
	}
	if int64(len(text)) > u.Limits.MetadataBytes {
		return fault.Errorf(fault.TooLarge, "file_metadata may have at most %d bytes", u.Limits.MetadataBytes)
	}
	u.given, u.inMetadata = true, nil // if file_metadata is sent twice, the last one counts
	u.metadata = readEntries(text, u.Limits.Files, naming.InboxFolder(u.User), &u.inMetadata)
	u.checked = false
	if u.refused() {
		return nil
	}
	return u.checkAccess()
}

// readEntries decodes file_metadata. It decodes one element at a time and stops after limit
// elements: a long list of empty objects takes far more memory than its text. An element
// without a folder gets the folder inbox.
func readEntries(text []byte, limit int, inbox string, found *problem.Fields) []entry {
	entries := []entry{}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(text) {
		badJSON(found, "text is not UTF-8", text)
		return entries
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if start, err := dec.Token(); err == nil && start != json.Delim('[') {
		if v, err := form.DecodeJSON(text); err == nil {
			found.Add("list_type", "Input should be a valid list", v, nil, metadataLoc...)
			return entries
		}
	}
	for dec.More() && len(entries) <= limit {
		var v any
		if dec.Decode(&v) != nil {
			break
		}
		entries = append(entries, readEntry(v, len(entries), inbox, found))
	}
	if len(entries) > limit {
		found.TooLong(nil, limit, len(entries), metadataLoc)
		return entries
	}
	_, err := dec.Token() // the closing bracket
	if err == nil {
		if _, err = dec.Token(); err == io.EOF && !form.HasLoneSurrogate(text) {
			return entries
		}
	}
	*found = nil // if file_metadata is not JSON, report no other errors in it
	position, why := form.JSONFault(text)
	before := []rune(string(text))[:position]
	line := 1
	column := len(before) + 1
	for i, c := range before {
		if c == '\n' {
			line++
			column = len(before) - i
		}
	}
	badJSON(found, fmt.Sprintf("%s at line %d column %d", strings.ToLower(why[:1])+why[1:], line, column), text)
	return entries
}

// badJSON adds the error that file_metadata is not JSON.
func badJSON(f *problem.Fields, why string, text []byte) {
	f.Add("json_invalid", "Invalid JSON: "+why, strings.ToValidUTF8(string(text), "\uFFFD"), map[string]any{"error": why}, metadataLoc...)
}

// readEntry decodes the element of file_metadata with an index.
func readEntry(v any, index int, inbox string, found *problem.Fields) entry {
	loc := problem.Under(metadataLoc, index)
	fields, ok := v.(map[string]any)
	if !ok {
		found.Add("dict_type", "Input should be a valid dictionary", v, nil, loc...)
		return entry{}
	}
	before := len(*found)
	o := form.NewObject(loc, fields, found)
	e := entry{folder: o.OptionalText("folder_name"), tags: o.Texts("tags", 8*naming.MaxTags, false), replace: o.Boolean("replace"), shown: o.Boolean("shown"), version: o.OptionalInt("version", 1, math.MaxInt32)}
	o.RefuseUnknown()
	if e.version > 0 && !e.replace {
		found.AddValue(problem.Under(loc, "version"), fault.Errorf(fault.Invalid, "version is only for files that replace a document: set replace to true, too"), fields["version"])
	}
	if len(*found) > before {
		return e
	}
	var err error
	if c, found := lookalike.Hidden(norm.NFC.String(e.folder)); found {
		e.refused = fmt.Sprintf("the folder path %q contains %s, which is invisible: remove it", e.folder, c)
		e.folder = lookalike.Clean(e.folder)
	}
	if e.folder == "" {
		e.folder = inbox
	} else if e.folder, err = naming.Folder(e.folder); err != nil {
		found.AddValue(problem.Under(loc, "folder_name"), err, fields["folder_name"])
	}
	if e.tags, err = naming.Tags(e.tags); err != nil {
		found.AddValue(problem.Under(loc, "tags"), err, fields["tags"])
	}
	return e
}

// checkLength adds an error if file_metadata does not have one element for each file.
func checkLength(f *problem.Fields, entries, files int) {
	switch {
	case entries > files:
		f.TooLong(nil, files, entries, metadataLoc)
	case entries < files:
		f.Add("too_short", fmt.Sprintf("List should have at least %d items after validation, not %d", files, entries), nil,
			map[string]any{"field_type": "List", "min_length": files, "actual_length": entries}, metadataLoc...)
	}
}
