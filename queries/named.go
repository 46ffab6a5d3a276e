package queries

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
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

const (
	// namedTerms is how many terms a query has at most that may be a name.
	namedTerms = 6
	// namedDocuments is how many documents are looked at that are named so, those
	// with the shortest names.
	namedDocuments = 50
	// namedShown is how many of them gain by it, those that are most surely meant.
	namedShown = 5
	// namedWeight is what a document that is named by all words of the query gains,
	// as a share of the score of the best passage.
	namedWeight = 1.5
	// shortestPrefix is how many letters the beginning of a word has at least.
	shortestPrefix = 3
	// prefixShare is what the beginning of a word counts for beside a whole one.
	prefixShare = 0.5
)

// named is a document whose name holds all words of a query.
type named struct {
	Source         // its first passage
	share  float64 // of its name that is asked for, from 0 to 1
}

// nameAsked returns the terms that a name must hold to be the one that a query
// asks for: all but stop words and the extension of a file. The beginning of the
// last one may do.
func nameAsked(query string) (terms []string) {
	all := searchindex.QueryTerms(query)
	if last := len(all) - 1; last > 0 && slices.Contains([]string{"pdf", "docx", "md", "markdown", "txt", "text"}, all[last].Text) {
		all = all[:last]
	}
	for _, t := range all {
		if t.Weight == 1 {
			terms = append(terms, t.Text)
		}
	}
	if len(terms) > namedTerms {
		return nil
	}
	return terms
}

// documentsNamed finds documents of some folders ($1, JSON) by the terms of
// their names: one in a range ($2 to $3), and all of others ($4, JSON).
const documentsNamed = `SELECT d.id, d.name FROM (
		SELECT DISTINCT w.document FROM json_each($1) k CROSS JOIN name_terms w
		WHERE w.folder = k.value AND w.term >= $2 AND w.term < $3 AND NOT EXISTS (SELECT 1 FROM json_each($4) t
			WHERE NOT EXISTS (SELECT 1 FROM name_terms o WHERE o.folder = w.folder AND o.term = t.value AND o.document = w.document))
		LIMIT 5000) found CROSS JOIN documents d WHERE d.id = found.document ORDER BY length(d.name), d.id LIMIT CAST($5 AS INTEGER)`

// firstPassages finds where the content that documents ($1, JSON) show begins.
const firstPassages = `SELECT p.document, p.version, p.section, p.number FROM json_each($1) k CROSS JOIN documents d CROSS JOIN passages p
	WHERE d.id = k.value AND p.document = d.id AND p.version = d.shown AND (p.section, p.number) =
		(SELECT q.section, q.number FROM passages q WHERE q.document = d.id AND q.version = d.shown ORDER BY q.section, q.number LIMIT 1)`

// named returns the documents that the user may read and that are named as the
// query asks. It looks only at folders that the user may read: the names of others'
// documents show neither in what it returns nor in how long it takes.
func (q *Queries) named(ctx context.Context, v *viewer, user events.User, s Search) ([]named, error) {
	terms := nameAsked(s.Query)
	if len(terms) == 0 || s.Document != uuid.Nil {
		return nil, nil
	}
	folders, err := v.foldersWithin(ctx, s.Folder)
	if err != nil {
		return nil, err
	}
	last := terms[len(terms)-1]
	end := last + "\x01" // no term holds it
	if utf8.RuneCountInString(last) >= shortestPrefix {
		end = last + string(utf8.MaxRune)
	}
	others, err := json.Marshal(terms[:len(terms)-1])
	if err != nil {
		return nil, err
	}
	type row struct{ id, name string }
	rows, err := projections.List(ctx, v.db, func(r *row) []any { return []any{&r.id, &r.name} }, documentsNamed, folders, last, end, string(others), namedDocuments)
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

// nameShare returns how surely a name that holds all terms is meant by them: the
// more of its words they are, and the more they are themselves. A name that holds
// but a word which begins with the last one is less so.
func nameShare(terms []string, name string) float64 {
	asked, words, whole := 0.0, 0.0, false
	last := terms[len(terms)-1]
	for _, w := range projections.NameTerms(name) {
		words++
		switch {
		case slices.Contains(terms, w):
			asked++
			whole = whole || w == last
		case strings.HasPrefix(w, last):
			asked += prefixShare
		}
	}
	share := 1 - (1-asked/max(words, 1))/float64(len(terms)+1)
	if !whole {
		share *= prefixShare
	}
	return share
}

// firstOf returns the first passages of those documents that the user may read
// and that are asked for.
func (q *Queries) firstOf(ctx context.Context, user events.User, s Search, ids []string) ([]Source, error) {
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
		hits[i].ID = projections.PassageID(p.document, p.version, p.section, p.number)
	}
	c := check{Queries: q, user: user, search: s, versions: make(map[string]int)}
	found, err := c.winners(ctx, hits)
	if errors.Is(err, errOvertaken) { // they are found by their names a moment later
		return nil, nil
	}
	return found, err
}

// raise adds what documents gain by their names to the hits: to the best passage
// of each, or to its first one.
func raise(hits []searchindex.Hit, byID map[string]Source, all []named) []searchindex.Hit {
	top := 1.0
	if len(hits) > 0 {
		top = hits[0].Score
	}
	for _, n := range all {
		at := slices.IndexFunc(hits, func(h searchindex.Hit) bool { return byID[h.ID].Document == n.Document })
		if at < 0 {
			at, hits = len(hits), append(hits, searchindex.Hit{ID: n.id})
			byID[n.id] = n.Source
		}
		hits[at].Score += top * namedWeight * n.share
	}
	slices.SortStableFunc(hits, func(a, b searchindex.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
	})
	return hits
}
