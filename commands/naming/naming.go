// Package naming validates the names of folders, documents and tags, and normalizes them:
// they are stored trimmed and in Unicode form NFC. It imports events, events/fault and
// events/lookalike.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events"
	"annals/events/fault"
	"annals/events/lookalike"

	"golang.org/x/text/unicode/norm"
)

// Limits of names, which the API documents.
const (
	MaxName      = 255 // bytes of a folder's or document's name
	MaxSegments  = 32  // names in a path
	MaxTags      = 64  // tags of a document
	MaxTag       = 128 // bytes of a tag
	MaxPrincipal = 255 // bytes of a principal in a permission, including its prefix
)

// InboxFolder returns the path of the user's own folder in the inbox, for uploads that name
// no folder: Inbox/ and the user's name, percent-encoded if it is not a valid folder name.
func InboxFolder(user events.User) string {
	subject := user.Principal.Name()
	if name, err := FolderName(subject); err != nil || name != subject || strings.Contains(subject, "%") {
		subject = strings.ReplaceAll(url.PathEscape(subject), ".", "%2E")
	}
	if len(subject) > MaxName {
		sum := sha256.Sum256([]byte(subject))
		subject = "%" + hex.EncodeToString(sum[:]) // differs from every percent-encoded name, which has two digits after each %
	}
	return events.Inbox + "/" + subject
}

// Folder returns a folder's path as it is stored: its names normalized, and separated by
// "/". The error for an invalid path is fault.Invalid.
func Folder(path string) (string, error) {
	segments, err := SplitFolder(path)
	if err != nil {
		return "", err
	}
	return strings.Join(segments, "/"), nil
}

// SplitFolder returns the normalized names of a folder's path.
func SplitFolder(path string) ([]string, error) {
	if n := strings.Count(path, "/") + 1; n > MaxSegments {
		return nil, fault.Errorf(fault.Invalid, "a folder path has at most %d names, not %d", MaxSegments, n)
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		name, err := FolderName(s)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "folder path %.300q: %w", path, err)
		}
		segments[i] = name
	}
	return segments, nil
}

// Document returns the normalized name of a document.
func Document(name string) (string, error) {
	name, err := Text("a name", name, MaxName)
	switch {
	case err != nil:
		return "", err
	case name == "." || name == "..":
		return "", fault.Errorf(fault.Invalid, "a name cannot be %q", name)
	case strings.Contains(name, "/"):
		return "", fault.Errorf(fault.Invalid, "a name cannot contain a slash")
	}
	return name, nil
}

// FolderName returns the normalized name of a folder. It refuses names that look like a
// path.
func FolderName(name string) (string, error) {
	name, err := Document(name)
	if err != nil {
		return "", err
	}
	if c, found := lookalike.Slash(name); found {
		return "", fault.Errorf(fault.Invalid, "a folder name cannot contain %s, which looks like a slash: leave it out", c)
	}
	return name, nil
}

// Text returns text trimmed and in NFC. The error is fault.Invalid unless the result has 1
// to maxBytes bytes and no control or invisible characters. The message calls the text what.
func Text(what, text string, maxBytes int) (string, error) {
	const maxShrink = 8 // NFC shortens a text by less than this factor
	if len(text) <= maxShrink*maxBytes && utf8.ValidString(text) {
		text = strings.TrimSpace(norm.NFC.String(text))
	}
	switch {
	case !utf8.ValidString(text):
		return "", fault.Errorf(fault.Invalid, "%s must be UTF-8", what)
	case strings.TrimFunc(text, invisible) == "":
		return "", fault.Errorf(fault.Invalid, "%s cannot be empty", what)
	case len(text) > maxBytes:
		return "", fault.Errorf(fault.Invalid, "%s has at most %d bytes, not %d", what, maxBytes, len(text))
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", fault.Errorf(fault.Invalid, "%s cannot contain control characters", what)
	}
	if c, found := lookalike.Hidden(text); found {
		return "", hiddenIn(what, c)
	}
	return text, nil
}

func hiddenIn(what string, c lookalike.Character) error {
	return fault.Errorf(fault.Invalid, "%s cannot contain %s, which is invisible: leave it out", what, c)
}

// invisible reports whether a character is not visible by itself, such as a space or format
// character.
func invisible(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// Tags returns normalized tags without duplicates, in the order given. The error for
// invalid tags is fault.Invalid.
func Tags(tags []string) ([]string, error) {
	if len(tags) > 8*MaxTags {
		return nil, fault.Errorf(fault.Invalid, "a document has at most %d tags, not %d", MaxTags, len(tags))
	}
	var kept []string
	for _, t := range tags {
		tag, err := Text("a tag", t, MaxTag)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(kept, tag) {
			kept = append(kept, tag)
		}
	}
	if len(kept) > MaxTags {
		return nil, fault.Errorf(fault.Invalid, "a document has at most %d tags, not %d", MaxTags, len(kept))
	}
	return kept, nil
}
