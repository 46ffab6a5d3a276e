package search

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"annals/events"
	"annals/projections"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/queries/access"
	"annals/queries/freshness"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// errOvertaken means that the engine's search must be repeated, because the read models
// changed after it.
var errOvertaken = errors.New("the read models have changed since the engine searched")

// check compares the engine's hits for one search with the current read models.
type check struct {
	*Searcher
	user     events.User
	search   Query
	versions map[string]int // versions of the current contents of documents seen so far
	waited   bool           // waitForVault was called
	lagging  bool           // the hits may be of earlier contents, which are left out
}

// recheck returns the hits that the user may read and that match the filters. It checks
// permissions and filters again, because the index may be behind the read models. The
// error is errOvertaken if the engine may have missed the current content of a document.
func (c *check) recheck(ctx context.Context, hits []searchindex.Hit) ([]Source, error) {
	passages, err := c.passages(ctx, hits)
	if err != nil {
		return nil, err
	}
	docs, err := c.documents(ctx, passages)
	if err != nil {
		return nil, err
	}
	var found []Source
	for _, p := range passages {
		d, ok := docs[p.document]
		if !ok {
			continue
		}
		source, err := p.source(d)
		if err != nil {
			return nil, err
		}
		source.id, source.Score = hits[p.hit].ID, hits[p.hit].Score
		if c.search.syntax.Matches(source.candidate()) {
			found = append(found, source)
		}
	}
	return found, nil
}

// passage is a hit with its data from the read model of passages.
type passage struct {
	hit           int // index
	document      string
	version       int // content version of the hit
	shown         int // version of the document's current content
	number, level int
	title, path   string
	pages         [2]int
	text          []byte
	confidence    int    // of its part of the section, in thousandths
	startPage     int    // of that part, if the passage has several pages
	breaks        string // JSON: page breaks of that part, if the passage has several pages
	start         int    // offset in that part
}

func (p *passage) fields() []any {
	return []any{&p.hit, &p.document, &p.version, &p.shown, &p.number, &p.level, &p.title, &p.path, &p.pages[0], &p.pages[1], &p.text, &p.confidence, &p.startPage, &p.breaks, &p.start}
}

// passages returns, in the order of hits, the passages that belong to the current
// content of their documents.
func (c *check) passages(ctx context.Context, hits []searchindex.Hit) ([]passage, error) {
	keys := make([][]any, len(hits))
	for i, h := range hits {
		if document, version, section, number, ok := passages.ParseID(h.ID); ok {
			keys[i] = []any{document, version, section, number}
		}
	}
	b, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	// One statement, to see all documents in the same state.
	rows, err := projections.List(ctx, c.Models.Passages.DB(), (*passage).fields,
		`SELECT k.key, d.id, CAST(k.value ->> 1 AS INTEGER), d.shown, CAST(k.value ->> 3 AS INTEGER), coalesce(s.level, 0), coalesce(s.title, ''), coalesce(s.path, '[]'),
			coalesce(p.start_page, 0), coalesce(p.end_page, 0), substr(s.text, p.start + 1, p.length), coalesce(s.confidence, 0),
			coalesce(s.start_page, 0), CASE WHEN p.end_page > p.start_page THEN s.breaks ELSE '[]' END, coalesce(p.start, 0)
		 FROM json_each($1) k CROSS JOIN documents d
		 LEFT JOIN passages p ON p.document = d.id AND p.version = d.shown AND p.version = CAST(k.value ->> 1 AS INTEGER)
			AND p.section = CAST(k.value ->> 2 AS INTEGER) AND p.number = CAST(k.value ->> 3 AS INTEGER)
		 LEFT JOIN sections s ON s.id = p.row WHERE d.id = k.value ->> 0 ORDER BY k.key`, string(b))
	if err != nil {
		return nil, err
	}
	overtaken := false
	for _, p := range rows {
		before, seen := c.versions[p.document]
		// Passages of previous content stay in the index for a while. They are skipped if
		// an earlier hit has the document's current content. Otherwise the engine may have
		// missed the current content.
		overtaken = overtaken || seen && before != p.shown || !seen && p.version < p.shown
		c.versions[p.document] = p.shown
	}
	if overtaken && !c.lagging {
		return nil, errOvertaken
	}
	return slices.DeleteFunc(rows, func(p passage) bool { return p.version != p.shown }), nil
}

// documents returns those documents of passages that the user may read and that match
// the filters. Each document has the name and title of the version that the passages are
// from.
func (c *check) documents(ctx context.Context, passages []passage) (map[string]vault.Document, error) {
	v, err := access.New(ctx, c.Models, c.user)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(passages))
	for i, p := range passages {
		ids[i] = p.document
	}
	docs, err := vault.ByID(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	behind := false
	for id, d := range docs {
		behind = behind || d.ContentVersion < c.versions[id]
		if !c.search.matches(d) {
			delete(docs, id)
		}
	}
	if behind && !c.waited {
		return nil, c.waitForVault(ctx)
	}
	return docs, c.asShown(ctx, v, docs)
}

// waitForVault waits until the vault, which has names and permissions, catches up with
// the texts, and returns errOvertaken.
func (c *check) waitForVault(ctx context.Context) error {
	c.waited = true
	at, err := freshness.Passed(ctx, c.Models.Passages)
	if err != nil {
		return err
	}
	if err := c.Models.Await(ctx, c.Models.Vault, at); err != nil {
		return err
	}
	return errOvertaken
}

// matches reports whether a document matches the filters.
func (s Query) matches(d vault.Document) bool {
	scope := access.CleanPath(s.Folder)
	inside := scope == "" || strings.HasPrefix(d.FolderPath+"/", scope+"/")
	lacks := func(tag string) bool { return !slices.Contains(d.Tags, tag) }
	tagged := !slices.ContainsFunc(s.Tags, lacks)
	if s.AnyTag && len(s.Tags) > 0 {
		tagged = slices.ContainsFunc(d.Tags, func(tag string) bool { return slices.Contains(s.Tags, tag) })
	}
	return inside && tagged && (s.Document == uuid.Nil || s.Document == d.ID)
}

// contentVersions finds, for pairs of a document and a content version ($1, JSON), the
// versions of the document with that content, in order.
const contentVersions = `SELECT v.document, v.name, v.title, v.media_type FROM json_each($1) k
	CROSS JOIN versions v WHERE v.document = k.value ->> 0 AND v.content = CAST(k.value ->> 1 AS INTEGER) ORDER BY v.version`

// asShown sets the previous name, title and type of documents whose new content is not in
// the index yet.
func (c *check) asShown(ctx context.Context, v *access.Viewer, docs map[string]vault.Document) error {
	var keys [][2]any
	for id, d := range docs {
		if shown := c.versions[id]; d.ContentVersion > shown {
			keys = append(keys, [2]any{id, shown})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	b, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	type row struct{ id, name, title, mediaType string }
	rows, err := projections.List(ctx, v.DB, func(r *row) []any { return []any{&r.id, &r.name, &r.title, &r.mediaType} },
		contentVersions, string(b))
	for _, r := range rows {
		d := docs[r.id]
		d.Name, d.Title, d.MediaType = r.name, r.title, r.mediaType
		docs[r.id] = d
	}
	return err
}

// source converts a passage of document d.
func (p *passage) source(d vault.Document) (Source, error) {
	s := Source{
		Document: d.ID, Title: d.Title, document: d, Folder: d.FolderShown, LeafTitle: p.title, StartPage: p.pages[0], EndPage: p.pages[1],
		Text: string(p.text), body: string(p.text), DeepLink: d.DeepLink(p.pages[0]),
		Confidence: float64(p.confidence) / 1000,
	}
	if err := errors.Join(json.Unmarshal([]byte(p.path), &s.Path), s.setBreaks(p)); err != nil {
		return s, err
	}
	if p.number == 0 && p.title != "" {
		// The passage is the first of its section: show the heading.
		s.Text = strings.TrimSpace(vault.Heading(p.level, p.title) + "\n\n" + s.body)
	}
	if s.LeafTitle == "" {
		s.LeafTitle = d.Title
	}
	return s, nil
}
