package queries

import (
	"context"
	"encoding/json"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

const (
	defaultSearchLimit = 10
	// searchRounds bounds how often more are fetched because those that came
	// may no longer be read.
	searchRounds = 20
)

// Search returns the passages that answer best, best first, of those that the
// user may read. An unknown or unreadable folder gives none. While the search
// engine is down the error is fault.Unavailable.
func (q *Queries) Search(ctx context.Context, user events.User, s Search) ([]Source, error) {
	if s.Limit <= 0 {
		s.Limit = q.SearchLimit
	}
	if s.Limit <= 0 {
		s.Limit = defaultSearchLimit
	}
	v, err := q.viewer(user)
	if err != nil {
		return nil, err
	}
	query, ok, err := v.engineQuery(ctx, s)
	if !ok || err != nil {
		return []Source{}, wrap(err, "folders")
	}
	if err := q.Models.Passages.Err(); err != nil {
		return nil, fault.Hide(fault.Unavailable, "the texts cannot be searched at the moment", err)
	}
	found, err := q.fetch(ctx, v, query, s.Limit)
	if err != nil {
		return nil, err
	}
	if query.More = searchindex.Expand(s.Query, candidates(found)); len(query.More) > 0 {
		if found, err = q.fetch(ctx, v, query, s.Limit); err != nil {
			return nil, err
		}
	}
	return rank(s, found), nil
}

// fetch returns at least so many of the engine's best passages, if there are
// as many, that the user may read.
func (q *Queries) fetch(ctx context.Context, v *viewer, query searchindex.Query, least int) ([]Source, error) {
	var found []Source
	for range searchRounds {
		hits, err := q.Models.Search.Search(ctx, query)
		if err != nil {
			return nil, unavailable(err)
		}
		some, err := q.readable(ctx, v, hits)
		if err != nil {
			return nil, wrap(err, "passages")
		}
		found = append(found, some...)
		if len(found) >= least || len(hits) < query.Limit {
			break
		}
		query.Offset += len(hits)
	}
	return found, nil
}

func unavailable(err error) error {
	if k := fault.KindOf(err); k != fault.Internal {
		return err
	}
	return fault.Hide(fault.Unavailable, "the search engine does not answer at the moment", err)
}

// engineQuery tells the engine what the user asks and may read; ok is false
// where that is nothing.
func (v *viewer) engineQuery(ctx context.Context, s Search) (query searchindex.Query, ok bool, err error) {
	query = searchindex.Query{Text: s.Query, All: v.user.Admin, Tags: s.Tags, AnyTag: s.AnyTag, Limit: max(s.Limit, searchindex.Candidates)}
	if strings.TrimSpace(s.Query) == "" {
		return query, false, nil
	}
	if s.Document != uuid.Nil {
		query.Document = s.Document.String()
	}
	if strings.Trim(s.Folder, "/ ") != "" {
		folder, err := v.resolve(ctx, s.Folder)
		if err != nil || folder == "" {
			return query, false, err
		}
		query.Folders = []string{folder}
		// Who may read a folder may read all below it: no other grant
		// matters within it.
		query.All = true
		return query, true, nil
	}
	if !query.All {
		if query.Granted, err = v.granted(ctx); err != nil || len(query.Granted) == 0 {
			return query, false, err
		}
	}
	return query, true, nil
}

// passageText is what the read model knows of a passage.
type passageText struct {
	document                        string
	section, number, version, level int
	title, path                     string
	startPage, endPage              int
	text                            []byte
}

func (p *passageText) fields() []any {
	return []any{&p.document, &p.section, &p.number, &p.version, &p.level, &p.title, &p.path, &p.startPage, &p.endPage, &p.text}
}

// readable looks hits up in the read models, and drops those that the user may
// not read (any more) or whose document has other content by now.
func (q *Queries) readable(ctx context.Context, v *viewer, hits []searchindex.Hit) ([]Source, error) {
	texts, err := q.passages(ctx, hits)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(texts))
	for _, t := range texts {
		ids = append(ids, t.document)
	}
	docs, err := v.documentsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []Source
	for _, h := range hits {
		t, ok := texts[h.ID]
		if !ok {
			continue
		}
		d, ok := docs[t.document]
		if !ok {
			continue
		}
		source, err := t.source(d)
		if err != nil {
			return nil, err
		}
		source.id, source.Score = h.ID, h.Score
		found = append(found, source)
	}
	return found, nil
}

// passages returns what the read model knows of hits, by their ids.
func (q *Queries) passages(ctx context.Context, hits []searchindex.Hit) (map[string]*passageText, error) {
	var keys [][3]any
	for _, h := range hits {
		if document, _, section, number, ok := projections.ParsePassageID(h.ID); ok {
			keys = append(keys, [3]any{document, section, number})
		}
	}
	b, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := projections.List(ctx, q.Models.Passages.DB(), (*passageText).fields,
		`SELECT p.document, p.section, p.number, d.version, s.level, s.title, s.path, p.start_page, p.end_page, substr(s.text, p.start + 1, p.length)
		 FROM json_each($1) k
		 CROSS JOIN passages p ON p.document = k.value ->> 0 AND p.section = k.value ->> 1 AND p.number = k.value ->> 2
		 JOIN documents d ON d.id = p.document JOIN sections s ON s.id = p.row`, string(b))
	if err != nil {
		return nil, err
	}
	texts := make(map[string]*passageText, len(rows))
	for i := range rows {
		t := &rows[i]
		// The id names the version that made the content: a passage of
		// another version is not the one that was found.
		texts[projections.PassageID(t.document, t.version, t.section, t.number)] = t
	}
	return texts, nil
}

// documentsByID returns those of the documents that the user may read.
func (v *viewer) documentsByID(ctx context.Context, ids []string) (map[string]Document, error) {
	b, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := projections.List(ctx, v.db, (*documentRow).fields, documentColumns+`WHERE d.id IN (SELECT value FROM json_each($1))`, string(b))
	if err != nil {
		return nil, err
	}
	visible, err := v.visible(ctx, rows)
	docs := make(map[string]Document, len(visible))
	for _, d := range visible {
		docs[d.ID.String()] = d
	}
	return docs, err
}

func (t *passageText) source(d Document) (Source, error) {
	s := Source{
		Document: d.ID, Title: d.Title, LeafTitle: t.title, StartPage: t.startPage, EndPage: t.endPage,
		Text: string(t.text), body: string(t.text), DeepLink: d.DeepLink(t.startPage),
	}
	if err := json.Unmarshal([]byte(t.path), &s.Path); err != nil {
		return s, err
	}
	if t.number == 0 && t.title != "" {
		// The section begins here, and its heading is part of the text.
		s.Text = strings.TrimSpace(heading(t.level, t.title) + "\n\n" + s.body)
	}
	if s.LeafTitle == "" {
		s.LeafTitle = d.Title
	}
	return s, nil
}

func candidates(found []Source) []searchindex.Candidate {
	all := make([]searchindex.Candidate, len(found))
	for i, f := range found {
		all[i] = searchindex.Candidate{
			Hit:   searchindex.Hit{ID: f.id, Score: f.Score},
			Title: f.Title, Section: strings.Join(f.Path, " > "), Text: f.body,
		}
	}
	return all
}

// rank puts what was found into its final order, which heeds what the engine
// cannot see, and cuts it to what was asked for.
func rank(s Search, found []Source) []Source {
	byID := make(map[string]Source, len(found))
	for _, f := range found {
		byID[f.id] = f
	}
	hits := searchindex.Rerank(s.Query, candidates(found))
	hits = searchindex.Spread(hits, s.Limit, func(h searchindex.Hit) string { return byID[h.ID].Document.String() })
	sources := make([]Source, 0, len(hits))
	for _, h := range hits {
		f := byID[h.ID]
		f.Score = h.Score
		sources = append(sources, f)
	}
	return sources
}

// visibleFolder returns the id of the folder at path, uuid.Nil where the user
// may read none there.
func (q *Queries) visibleFolder(ctx context.Context, user events.User, path string) (*viewer, uuid.UUID, error) {
	v, err := q.viewer(user)
	if err != nil {
		return nil, uuid.Nil, err
	}
	id, err := v.resolve(ctx, path)
	if err != nil || id == "" {
		return v, uuid.Nil, wrap(err, "folder")
	}
	folder, err := uuid.Parse(id)
	return v, folder, err
}
