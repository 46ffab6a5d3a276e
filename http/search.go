package http

import (
	"errors"
	"math"
	"net/url"
	"strings"

	"annals/http/form"
	"annals/http/problem"
	"annals/queries/search"
)

type source struct {
	DocID         string      `json:"doc_id"`
	DocumentTitle string      `json:"document_title"`
	LeafTitle     string      `json:"leaf_title"`
	StartPage     *int        `json:"start_page"`
	EndPage       *int        `json:"end_page"`
	Text          string      `json:"text"`
	Score         float64     `json:"score"`
	DeepLink      string      `json:"deep_link"`
	URL           string      `json:"url,omitempty"`
	Folder        string      `json:"folder,omitempty"`
	Owner         string      `json:"owner,omitempty"`
	Metadata      reading     `json:"metadata"`
	Duplicates    []duplicate `json:"duplicates,omitempty"`
}

// duplicate is another passage with the same text.
type duplicate struct {
	DocID         string `json:"doc_id"`
	DocumentTitle string `json:"document_title"`
	StartPage     *int   `json:"start_page"`
	DeepLink      string `json:"deep_link"`
	URL           string `json:"url,omitempty"`
	Folder        string `json:"folder,omitempty"`
}

// reading is the metadata of a text that was read: whether some of it was recognised in
// pictures of pages, and how surely.
type reading struct {
	OCR        bool     `json:"ocr"`
	Confidence *float64 `json:"confidence"`
}

// readingBody returns the metadata of a text whose recognised words have this confidence, 0
// if there are none.
func readingBody(confidence float64) reading {
	if confidence == 0 {
		return reading{}
	}
	return reading{true, &confidence}
}

// search handles POST /search. The reply is a page of passages. For a blank question it is
// empty.
func (s *Server) search(c *call) (any, error) {
	var found problem.Fields
	o, err := form.ReadObject(c.Request, s.Limits.JSONBytes, &found)
	if err != nil {
		return nil, err
	}
	q := search.Query{
		Query:    o.Text("query", s.Limits.QueryLength),
		Folder:   o.OptionalText("folder_name"),
		Tags:     each(o.Texts("tags", s.Limits.Tags, false), NormalizeTag),
		AnyTag:   o.OneOf("tag_mode", "all", "any") == "any",
		Limit:    o.OptionalInt("limit", 1, search.MaxLimit),
		Document: o.OptionalID("document_id"),
		Cursor:   o.OptionalText("cursor"),

		Generation: o.OptionalInt("generation", 1, math.MaxInt32),
	}
	o.RefuseUnknown()
	if err := found.Err(); err != nil {
		return nil, err
	}
	out := struct {
		Sources []source `json:"sources"`
		Next    *string  `json:"next_cursor"`
	}{Sources: []source{}}
	if strings.TrimSpace(q.Query) == "" {
		return out, nil
	}
	if err := s.begin(c, len(q.Query)); err != nil {
		return nil, err
	}
	sources, next, err := s.Queries.SearchPage(c.Context(), c.user, q)
	if errors.Is(err, search.ErrCursor) {
		found.AddValue([]any{"body", "cursor"}, err, q.Cursor)
		return nil, found.Err()
	}
	if next != "" {
		out.Next = &next
	}
	s.recordReads(c, "by a search", search.Shown(sources)...)
	out.Sources = each(sources, s.sourceBody)
	return out, err
}

func (s *Server) sourceBody(p search.Source) source {
	return source{
		DocID: p.Document.String(), DocumentTitle: p.Title, LeafTitle: p.LeafTitle,
		StartPage: page(p.StartPage), EndPage: page(p.EndPage),
		Text: p.Text, Score: p.Score, DeepLink: p.DeepLink, URL: Link(s.LinkURL, p.DeepLink), Folder: p.Folder, Owner: p.Owner, Metadata: readingBody(p.Confidence),
		Duplicates: each(p.Duplicates, s.duplicateBody),
	}
}

func (s *Server) duplicateBody(d search.Duplicate) duplicate {
	return duplicate{d.Document.String(), d.Title, page(d.StartPage), d.DeepLink, Link(s.LinkURL, d.DeepLink), d.Folder}
}

// page returns a pointer to n, or nil if n is 0 because the document has no pages.
func page(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// ask handles POST /ask.
func (s *Server) ask(c *call) (any, error) {
	var found problem.Fields
	o, err := form.ReadObject(c.Request, s.Limits.JSONBytes, &found)
	if err != nil {
		return nil, err
	}
	q := search.Query{
		Query:    o.Text("query", s.Limits.QueryLength),
		Folder:   o.OptionalText("folder_name"),
		Tags:     each(o.Texts("tags", s.Limits.Tags, true), NormalizeTag),
		Document: o.OptionalID("document_id"),

		Generation: o.OptionalInt("generation", 1, math.MaxInt32),
	}
	o.RefuseUnknown()
	if err := found.Err(); err != nil {
		return nil, err
	}
	if err := s.begin(c, len(q.Query)); err != nil {
		return nil, err
	}
	a, err := s.Queries.Ask(c.Context(), c.user, q)
	s.recordReads(c, "by a question", a.Documents...)
	return struct {
		Answer     string   `json:"answer"`
		Reasoning  string   `json:"reasoning"`
		Confidence float64  `json:"confidence"`
		Sources    []source `json:"sources"`
	}{a.Text, a.Reasoning, a.Confidence, each(a.Sources, s.sourceBody)}, err
}

type folderSummary struct {
	Folder      string `json:"folder,omitempty"`
	DocumentID  string `json:"document_id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Content     string `json:"content"`
	Truncated   bool   `json:"truncated"`
}

// folderSummary handles GET /folders/summary.
func (s *Server) folderSummary(c *call) (any, error) {
	var found problem.Fields
	path := form.QueryText(c.Request, "folder_name", &found)
	if err := found.Err(); err != nil {
		return nil, err
	}
	f, err := s.Queries.FolderSummary(c.Context(), c.user, path)
	out := struct {
		Status  string         `json:"status"`
		Summary *folderSummary `json:"folder_summary"`
	}{Status: f.Status}
	if f.Status == "ok" {
		out.Summary = &folderSummary{f.Folder, f.Document.String(), f.Title, f.Description, f.Content, f.Truncated}
	}
	return out, err
}

// Link returns the URL of a deep link on the scheme and host of root. It returns "" if root is
// nil or has no host.
func Link(root *url.URL, deepLink string) string {
	if root == nil || root.Host == "" {
		return ""
	}
	return root.Scheme + "://" + root.Host + "/" + strings.TrimPrefix(deepLink, "/")
}
