package mcp

import (
	"encoding/base64"
	"slices"
	"strings"

	"annals/events/fault"
)

// Page sizes, which fit in an agent's context.
const (
	namesPage     = 500    // folders or tags
	documentsPage = 100    // documents, or files of a job
	textPage      = 40_000 // bytes of Markdown
)

// maxCursor is the maximum number of characters of a cursor. The longest cursors contain
// the path of a folder.
const maxCursor = 4*maxPath + 64

// errCursor is returned for an invalid cursor.
var errCursor = fault.Errorf(fault.Invalid, "the cursor does not belong to this listing: leave it out to begin at the first page")

// cursor encodes the position at which a page of a kind of listing ended.
func cursor(kind, at string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + " " + at))
}

// parseCursor is the inverse of cursor; at is "" if there is none.
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

// namePage returns a page of sorted names.
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
