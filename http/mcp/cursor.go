package mcp

import (
	"encoding/base64"
	"sort"
	"strings"

	"annals/events/fault"
)

// Sizes of pages. A page is to fit into what an agent reads at once.
const (
	namesPage     = 500    // folders or tags
	documentsPage = 100    // documents, or files of a job
	textPage      = 40_000 // bytes of Markdown
)

// maxCursor is the most characters of a cursor. The longest ends a page of
// folders at the longest path.
const maxCursor = 4*maxPath + 64

// errCursor is the answer to a cursor that is none.
var errCursor = fault.Errorf(fault.Invalid, "the cursor is not one of this listing: leave it out to begin at the first page")

// cursor returns a text that names where a page of a kind of listing ended.
func cursor(kind, at string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + " " + at))
}

// parseCursor is the inverse of cursor; at is "" for none.
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

// namePage returns a page of names, which are in order.
func namePage(kind string, all []string, after string) (page []string, m more, err error) {
	last, err := parseCursor(kind, after)
	if err != nil {
		return nil, m, err
	}
	rest := all[sort.Search(len(all), func(i int) bool { return all[i] > last }):]
	page = append([]string{}, rest[:min(len(rest), namesPage)]...)
	if len(rest) > namesPage {
		m.NextCursor = cursor(kind, page[namesPage-1])
	}
	return page, m, nil
}
