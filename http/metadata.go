package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"strings"
	"unicode/utf8"

	"annals/commands"
	"annals/events/fault"
	"annals/events/lookalike"

	"golang.org/x/text/unicode/norm"
)

// entry is what file_metadata says of one file, as it is kept.
type entry struct {
	folder  string
	tags    []string
	replace bool   // the document of the file's name there
	version int    // that this must have; 0: any
	refused string // why no file can be filed there, whoever asks
}

var metadataLoc = []any{"body", "file_metadata"}

// describe reads file_metadata. Where it comes before the files, it is known
// before anything is stored whether the caller may write there.
func (u *upload) describe(p *multipart.Part) error {
	text, err := io.ReadAll(io.LimitReader(p, u.Limits.MetadataBytes+1))
	if err != nil {
		return &readError{err}
	}
	if int64(len(text)) > u.Limits.MetadataBytes {
		return fault.Errorf(fault.TooLarge, "file_metadata may have at most %d bytes", u.Limits.MetadataBytes)
	}
	u.given, u.inMetadata = true, nil // the last one counts
	u.metadata = readEntries(text, u.Limits.Files, commands.InboxFolder(u.user), &u.inMetadata)
	u.checked = false
	if u.refused() {
		return nil
	}
	return u.checkAccess()
}

// readEntries reads the text of file_metadata, at most so many entries one by
// one: a list of empty objects takes far more memory than its text. A file
// without a folder goes to the inbox.
func readEntries(text []byte, most int, inbox string, found *faults) []entry {
	entries := []entry{}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(text) {
		found.badJSON("text is not UTF-8", text)
		return entries
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if start, err := dec.Token(); err == nil && start != json.Delim('[') {
		if v, err := decodeJSON(text); err == nil {
			found.add("list_type", "Input should be a valid list", v, nil, metadataLoc...)
			return entries
		}
	}
	for dec.More() && len(entries) <= most {
		var v any
		if dec.Decode(&v) != nil {
			break
		}
		entries = append(entries, readEntry(v, len(entries), inbox, found))
	}
	if len(entries) > most {
		found.tooLong(nil, most, len(entries), metadataLoc)
		return entries
	}
	_, err := dec.Token() // ]
	if err == nil {
		if _, err = dec.Token(); err == io.EOF && !hasLoneSurrogate(text) {
			return entries
		}
	}
	*found = nil // what is no JSON has no other faults
	position, why := jsonFault(text)
	before := []rune(string(text))[:position]
	line := 1
	column := len(before) + 1
	for i, c := range before {
		if c == '\n' {
			line++
			column = len(before) - i
		}
	}
	found.badJSON(fmt.Sprintf("%s at line %d column %d", strings.ToLower(why[:1])+why[1:], line, column), text)
	return entries
}

// badJSON tells that a field's text is no JSON.
func (f *faults) badJSON(why string, text []byte) {
	f.add("json_invalid", "Invalid JSON: "+why, strings.ToValidUTF8(string(text), "\uFFFD"), map[string]any{"error": why}, metadataLoc...)
}

// readEntry reads the entry of one file.
func readEntry(v any, index int, inbox string, found *faults) entry {
	loc := under(metadataLoc, index)
	fields, ok := v.(map[string]any)
	if !ok {
		found.add("dict_type", "Input should be a valid dictionary", v, nil, loc...)
		return entry{}
	}
	before := len(*found)
	o := newObject(loc, fields, found)
	e := entry{folder: o.optionalText("folder_name"), tags: o.texts("tags", 8*commands.MaxTags, false), replace: o.boolean("replace"), version: o.optionalInt("version", 1, math.MaxInt32)}
	o.refuseUnknown()
	if e.version > 0 && !e.replace {
		found.addValue(under(loc, "version"), fault.Errorf(fault.Invalid, "a version is for files that replace a document: give replace, too"), fields["version"])
	}
	if len(*found) > before {
		return e
	}
	var err error
	if c, found := lookalike.Hidden(norm.NFC.String(e.folder)); found {
		e.refused = fmt.Sprintf("the folder path %q holds %s, which nobody sees: leave it out", e.folder, c)
		e.folder = lookalike.Clean(e.folder)
	}
	if e.folder == "" {
		e.folder = inbox
	} else if e.folder, err = commands.NormalizeFolder(e.folder); err != nil {
		found.addValue(under(loc, "folder_name"), err, fields["folder_name"])
	}
	if e.tags, err = commands.NormalizeTags(e.tags); err != nil {
		found.addValue(under(loc, "tags"), err, fields["tags"])
	}
	return e
}

// addValue tells why a value of the right type will not do.
func (f *faults) addValue(loc []any, err error, input any) {
	if len(*f) < maxFaults {
		_, why := describe(err)
		*f = append(*f, valueError(loc, why, input))
	}
}

// length tells that there are more or fewer entries than files.
func (f *faults) length(entries, files int) {
	switch {
	case entries > files:
		f.tooLong(nil, files, entries, metadataLoc)
	case entries < files:
		f.add("too_short", fmt.Sprintf("List should have at least %d items after validation, not %d", files, entries), nil,
			map[string]any{"field_type": "List", "min_length": files, "actual_length": entries}, metadataLoc...)
	}
}
