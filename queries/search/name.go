package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"annals/events"
	"annals/projections"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/queries/access"

	"github.com/google/uuid"
)

const (
	// namedTerms is the maximum number of terms in a query. Longer queries are not
	// matched with document names.
	namedTerms = 6
	// namedDocuments is the maximum number of documents with a matching name that are
	// ranked. Shorter names are preferred.
	namedDocuments = 50
	// namedShown is the number of best matches that get a bonus.
	namedShown = 5
	// namedWeight is the bonus for a document if its whole name is in the query, as a
	// multiple of the best passage's score.
	namedWeight = 1.5
	// shortestPrefix is the minimum length of a term that matches as the prefix of a
	// word.
	shortestPrefix = 3
	// prefixShare is the weight of a prefix, relative to a whole word.
	prefixShare = 0.5
)

// named is a document whose name contains all words of a query.
type named struct {
	Source         // its first passage
	share  float64 // see nameShare
}

// nameTerms returns the terms that a name must contain to match a query: all except stop
// words and a file extension. The last term may be the prefix of a word.
func nameTerms(query string) (terms []string) {
	all := searchindex.QueryTerms(query)
	if last := len(all) - 1; last > 0 && slices.Contains([]string{"pdf", "docx", "md", "markdown", "txt", "text"}, all[last].Text) {
		all = all[:last]
	}
	for _, t := range all {
		if !searchindex.IsStop(t.Text) {
			terms = append(terms, t.Text)
		}
	}
	if len(terms) > namedTerms {
		return nil
	}
	return terms
}

// documentsNamed finds the documents in the folders readable (see access.WithReadable)
// whose names contain all terms of $4 (JSON) and another term t with $2 <= t < $3.
//
// In each folder it starts from the names that have $2 or, if there are many of them, from those
// that have a rarer term. Otherwise "lighthouse report" would read the names of all reports. The
// limit of folders is for SQLite, which then chooses the term once a folder, and not for each name.
const documentsNamed = `SELECT d.id, d.name FROM (
		SELECT DISTINCT w.document FROM (
			SELECT k.id AS folder, CASE WHEN $4 = '[]' OR (SELECT COUNT(*) FROM (SELECT 1 FROM name_terms w WHERE w.folder = k.id AND w.term >= $2 AND w.term < $3 LIMIT 500) few) < 500 THEN $2
				ELSE COALESCE((SELECT n.value FROM json_each($4) n WHERE (SELECT COUNT(*) FROM (SELECT 1 FROM name_terms w WHERE w.folder = k.id AND w.term = n.value LIMIT 500) few) < 500 LIMIT 1), $2) END AS start
			FROM readable k WHERE ($4 = '[]' OR NOT EXISTS (SELECT 1 FROM json_each($4) n WHERE NOT EXISTS (SELECT 1 FROM name_terms o WHERE o.folder = k.id AND o.term = n.value))) LIMIT 1000000000) k
		CROSS JOIN name_terms w
		WHERE w.folder = k.folder AND w.term >= k.start AND w.term <= CASE WHEN k.start = $2 THEN $3 ELSE k.start END
			AND (k.start = $2 OR EXISTS (SELECT 1 FROM name_terms o WHERE o.document = w.document AND o.term >= $2 AND o.term < $3))
			AND NOT EXISTS (SELECT 1 FROM json_each($4) n WHERE NOT EXISTS (SELECT 1 FROM name_terms o WHERE o.folder = w.folder AND o.term = n.value AND o.document = w.document))
		LIMIT 5000) found CROSS JOIN documents d WHERE d.id = found.document ORDER BY length(d.name), d.id LIMIT CAST($5 AS INTEGER)`

// allDocumentsNamed is like documentsNamed, but for all folders. It is for users who may
// read all of them: its time does not grow with the number of folders, but with the names
// in all of them. It has no $1.
const allDocumentsNamed = `WITH starts (term) AS MATERIALIZED (
		SELECT CASE WHEN (SELECT COUNT(*) FROM (SELECT 1 FROM name_terms w WHERE w.term >= $1 AND w.term < $2 LIMIT 500) few) < 500 THEN $1
			ELSE COALESCE((SELECT n.value FROM json_each($3) n WHERE (SELECT COUNT(*) FROM (SELECT 1 FROM name_terms w WHERE w.term = n.value LIMIT 500) few) < 500 LIMIT 1), $1) END
		WHERE NOT EXISTS (SELECT 1 FROM json_each($3) n WHERE NOT EXISTS (SELECT 1 FROM name_terms o WHERE o.term = n.value)))
	SELECT d.id, d.name FROM (
		SELECT DISTINCT w.document FROM starts k CROSS JOIN name_terms w
		WHERE w.term >= k.term AND w.term <= CASE WHEN k.term = $1 THEN $2 ELSE k.term END
			AND (k.term = $1 OR EXISTS (SELECT 1 FROM name_terms o WHERE o.document = w.document AND o.term >= $1 AND o.term < $2))
			AND NOT EXISTS (SELECT 1 FROM json_each($3) n WHERE NOT EXISTS (SELECT 1 FROM name_terms o WHERE o.term = n.value AND o.document = w.document))
		LIMIT 5000) found CROSS JOIN documents d WHERE d.id = found.document AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder AND f.deleted = 1)
		ORDER BY length(d.name), d.id LIMIT CAST($4 AS INTEGER)`

// firstPassages finds the first passage of the current content of documents ($1, JSON).
const firstPassages = `SELECT p.document, p.version, p.section, p.number FROM json_each($1) k CROSS JOIN documents d CROSS JOIN passages p
	WHERE d.id = k.value AND p.document = d.id AND p.version = d.shown AND (p.section, p.number) =
		(SELECT q.section, q.number FROM passages q WHERE q.document = d.id AND q.version = d.shown ORDER BY q.section, q.number LIMIT 1)`

// named returns the documents that the user may read and whose names match the query. It
// searches only folders that the user may read, so the names of other documents affect
// neither its result nor its running time.
func (q *Searcher) named(ctx context.Context, v *access.Viewer, user events.User, s Query) ([]named, error) {
	terms := nameTerms(s.Query)
	if len(terms) == 0 || s.Document != uuid.Nil {
		return nil, nil
	}
	last := terms[len(terms)-1]
	end := last + "\x01" // no term contains this character
	if utf8.RuneCountInString(last) >= shortestPrefix {
		end = last + string(utf8.MaxRune)
	}
	others, err := json.Marshal(terms[:len(terms)-1])
	if err != nil {
		return nil, err
	}
	type row struct{ id, name string }
	query, args := allDocumentsNamed, []any{last, end, string(others), namedDocuments}
	if !user.Admin || s.folder != "" {
		with, of := v.WithReadable(s.folder)
		query, args = with+documentsNamed, append([]any{of}, args...)
	}
	rows, err := projections.List(ctx, v.DB, func(r *row) []any { return []any{&r.id, &r.name} }, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	shares := make(map[uuid.UUID]float64, len(rows))
	ids := make([]string, 0, len(rows))
	for _, r := range rows {
		id, err := uuid.Parse(r.id)
		if err != nil {
			return nil, err
		}
		shares[id] = nameShare(terms, r.name)
		ids = append(ids, r.id)
	}
	found, err := q.firstOf(ctx, user, s, ids)
	if err != nil {
		return nil, err
	}
	all := make([]named, len(found))
	for i, f := range found {
		all[i] = named{f, shares[f.Document]}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(cmp.Compare(b.share, a.share), strings.Compare(a.id, b.id)) })
	return all[:min(len(all), namedShown)], nil
}

// nameShare rates from 0 to 1 how well terms match a name that contains them all. The
// rating rises with the share of the name's words that the terms cover, and is lower if
// the last term is only the prefix of a word.
func nameShare(terms []string, name string) float64 {
	covered, words, whole := 0.0, 0.0, false
	last := terms[len(terms)-1]
	for _, w := range readmodel.NameTerms(name) {
		words++
		switch {
		case slices.Contains(terms, w):
			covered++
			whole = whole || w == last
		case strings.HasPrefix(w, last):
			covered += prefixShare
		}
	}
	share := 1 - (1-covered/max(words, 1))/float64(len(terms)+1)
	if !whole {
		share *= prefixShare
	}
	return share
}

// firstOf returns the first passages of the documents that the user may read and that
// pass the query's filters.
func (q *Searcher) firstOf(ctx context.Context, user events.User, s Query, ids []string) ([]Source, error) {
	b, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	type place struct {
		document                 string
		version, section, number int
	}
	places, err := projections.List(ctx, q.Models.Passages.DB(), func(p *place) []any { return []any{&p.document, &p.version, &p.section, &p.number} }, firstPassages, string(b))
	if err != nil {
		return nil, err
	}
	hits := make([]searchindex.Hit, len(places))
	for i, p := range places {
		hits[i].ID = passages.ID(p.document, p.version, p.section, p.number)
	}
	c := check{Searcher: q, user: user, search: s, versions: make(map[string]int)}
	found, err := c.recheck(ctx, hits)
	if errors.Is(err, errOvertaken) { // documents changed in the meantime: rank without names
		return nil, nil
	}
	return found, err
}
