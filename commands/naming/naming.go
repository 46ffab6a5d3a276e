// Package naming checks and normalizes the names of folders, documents and tags: they
// are stored trimmed, in Unicode form NFC, without invisible characters. It imports
// events, events/fault and events/lookalike.
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

// Limits of names, as the interface promises them.
const (
	MaxName     = 255 // bytes of a folder's or document's name
	MaxSegments = 32  // of a path
	MaxTags     = 64  // of a document
	MaxTag      = 128 // bytes of a tag
	// MaxPrincipal is the longest name of a user or group in a permission, in
	// bytes, with its kind.
	MaxPrincipal = 255
)

// InboxFolder returns the path of the user's own folder, for files without a folder:
// Inbox/ and the subject, percent-encoded if it is not a valid folder name.
func InboxFolder(user events.User) string {
	subject := user.Principal.Name()
	if name, err := FolderName(subject); err != nil || name != subject || strings.Contains(subject, "%") {
		subject = strings.ReplaceAll(url.PathEscape(subject), ".", "%2E")
	}
	if len(subject) > MaxName {
		sum := sha256.Sum256([]byte(subject))
		subject = "%" + hex.EncodeToString(sum[:]) // cannot be an escaped name: escapes have two digits
	}
	return events.Inbox + "/" + subject
}

// Folder returns a folder's path as it is stored: segments separated by "/", in Unicode
// form NFC, trimmed. The error for an invalid path is fault.Invalid.
func Folder(path string) (string, error) {
	segments, err := SplitFolder(path)
	if err != nil {
		return "", err
	}
	return strings.Join(segments, "/"), nil
}

// SplitFolder returns the names of a folder's path as they are stored.
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

// Document returns the name of a document as it is stored.
func Document(name string) (string, error) {
	name, err := Text("a name", name, MaxName)
	switch {
	case err != nil:
		return "", err
	case name == "." || name == "..":
		return "", fault.Errorf(fault.Invalid, "a name cannot be %q", name)
	case strings.Contains(name, "/"):
		return "", fault.Errorf(fault.Invalid, "a name cannot hold a slash")
	}
	return name, nil
}

// FolderName returns the name of a folder as it is stored. It refuses names that look
// like a path.
func FolderName(name string) (string, error) {
	name, err := Document(name)
	if err != nil {
		return "", err
	}
	if c, found := lookalike.Slash(name); found {
		return "", fault.Errorf(fault.Invalid, "a folder's name cannot hold %s, which looks like the slash of a path: leave it out", c)
	}
	return name, nil
}

// Text returns text trimmed and in NFC. It is an error unless the result has 1 to maxBytes
// bytes and no control characters. The length is compared last, because NFC may shorten
// the text.
func Text(what, text string, maxBytes int) (string, error) {
	const longest = 8 // NFC shortens a text by less than this factor
	if len(text) <= longest*maxBytes && utf8.ValidString(text) {
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
		return "", fault.Errorf(fault.Invalid, "%s cannot hold control characters", what)
	}
	if c, found := lookalike.Hidden(text); found {
		return "", hiddenIn(what, c)
	}
	return text, nil
}

// hiddenIn returns the error for a text with an invisible character.
func hiddenIn(what string, c lookalike.Character) error {
	return fault.Errorf(fault.Invalid, "%s cannot hold %s, which is invisible: leave it out", what, c)
}

// invisible reports whether a character by itself shows nothing.
func invisible(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// Tags returns tags as they are stored: in NFC, trimmed, without duplicates, in the order
// given. The error for invalid tags is fault.Invalid.
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
