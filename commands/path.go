package commands

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

// Limits of names, from the interface's promises.
const (
	MaxName     = 255 // bytes of a folder's or document's name
	MaxSegments = 32  // of a path
	MaxTags     = 64  // of a document
	MaxTag      = 128 // bytes of a tag
	// MaxPrincipal is the longest name of a user or group in a permission, in
	// bytes, with its kind.
	MaxPrincipal = 255
)

const inbox = events.Inbox

// InboxFolder returns the path of the folder that is the user's own, where
// files go for which no folder was named: Inbox/ and the subject. What cannot
// be in a folder's name is percent-encoded.
func InboxFolder(user events.User) string {
	subject := user.Principal.Name()
	if name, err := normalizeFolderName(subject); err != nil || name != subject || strings.Contains(subject, "%") {
		subject = strings.ReplaceAll(url.PathEscape(subject), ".", "%2E")
	}
	if len(subject) > MaxName {
		sum := sha256.Sum256([]byte(subject))
		subject = "%" + hex.EncodeToString(sum[:]) // no escape ends in so many digits
	}
	return inbox + "/" + subject
}

// NormalizeFolder returns a folder's path as it is kept: segments separated
// by "/", in Unicode form NFC, trimmed. A path that cannot be is
// fault.Invalid.
func NormalizeFolder(path string) (string, error) {
	segments, err := splitPath(path)
	if err != nil {
		return "", err
	}
	return strings.Join(segments, "/"), nil
}

func splitPath(path string) ([]string, error) {
	if n := strings.Count(path, "/") + 1; n > MaxSegments {
		return nil, fault.Errorf(fault.Invalid, "a folder path has at most %d names, not %d", MaxSegments, n)
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		name, err := normalizeFolderName(s)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "folder path %.300q: %w", path, err)
		}
		segments[i] = name
	}
	return segments, nil
}

// normalizeName returns the name of a folder or document as it is kept.
func normalizeName(name string) (string, error) {
	name, err := normalizeText("a name", name, MaxName)
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

// normalizeFolderName returns the name of a folder as it is kept: one that reads
// like a path would pass for a folder below another one.
func normalizeFolderName(name string) (string, error) {
	name, err := normalizeName(name)
	if err != nil {
		return "", err
	}
	if c, found := lookalike.Slash(name); found {
		return "", fault.Errorf(fault.Invalid, "a folder's name cannot hold %s, which looks like the slash of a path: leave it out", c)
	}
	return name, nil
}

// normalizeText returns text in NFC and trimmed, if it is text of 1 to
// maxBytes bytes without control characters. The comparison of length comes
// last: composing may shorten a text.
func normalizeText(what, text string, maxBytes int) (string, error) {
	const longest = 8 // no text of more than this many times the limit gets under it
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

// hiddenIn says which character nobody sees in a text.
func hiddenIn(what string, c lookalike.Character) error {
	return fault.Errorf(fault.Invalid, "%s cannot hold %s, which nobody sees: leave it out", what, c)
}

// invisible reports whether a character alone shows nothing.
func invisible(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// NormalizeTags returns tags as they are kept: in NFC, trimmed, each once, in
// the order given. Tags that cannot be are fault.Invalid.
func NormalizeTags(tags []string) ([]string, error) {
	if len(tags) > 8*MaxTags {
		return nil, fault.Errorf(fault.Invalid, "a document has at most %d tags, not %d", MaxTags, len(tags))
	}
	var kept []string
	for _, t := range tags {
		tag, err := normalizeText("a tag", t, MaxTag)
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
