package mcp

import (
	"encoding/base64"
	"slices"
	"strings"

	"annals/events/fault"
)

// Page sizes, chosen to fit in the context of a language model.
const (
	namesPage     = 500    // folders or tags
	documentsPage = 100    // documents, or files of a job
	textPage      = 40_000 // bytes of Markdown
)

// maxCursor is the maximum length of a cursor in characters. The longest cursors contain a
// folder path.
const maxCursor = 4*maxPath + 64

// errCursor is the error for an invalid cursor.
var errCursor = fault.Errorf(fault.Invalid, "the cursor does not belong to this listing: leave it out to begin at the first page")

// cursor returns the cursor for the next page of a listing. kind names the listing, and at is
// the position at which the page ended.
func cursor(kind, at string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + " " + at))
}

// parseCursor returns the position in a cursor, or "" if the cursor is empty. It fails if the
// cursor belongs to another kind of listing.
func parseCursor(kind, text string) (at string, err error) {
	if text == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	at, ok := strings.CutPrefix(string(b), kind+" ")
	if err != nil || !ok || at == "" {
		return "", errCursor
	}
	return at, nil
}

// namePage returns the page of sorted names that begins after the cursor.
func namePage(kind string, all []string, after string) (page []string, m more, err error) {
	last, err := parseCursor(kind, after)
	if err != nil {
		return nil, m, err
	}
	at, found := slices.BinarySearch(all, last)
	if found {
		at++
	}
	rest := all[at:]
	page = append([]string{}, rest[:min(len(rest), namesPage)]...)
	if len(rest) > namesPage {
		m.NextCursor = cursor(kind, page[namesPage-1])
	}
	return page, m, nil
}
