package http

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"

	"annals/http/answers"
	"annals/http/form"
	"annals/http/problem"
	"annals/queries/search"

	"github.com/google/uuid"
)

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
		Sources []answers.Source `json:"sources"`
		Next    *string          `json:"next_cursor"`
	}{Sources: []answers.Source{}}
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
	out.Sources = answers.Sources(sources, s.link)
	return out, err
}

// link returns the URL of a deep link, or "" if it is not known.
func (s *Server) link(deepLink string) string { return Link(s.LinkURL, deepLink) }

// ask handles POST /ask. With stream=true the reply is a stream of events.
func (s *Server) ask(c *call) (any, error) {
	var found problem.Fields
	stream := form.QueryBool(c.Request, "stream", &found)
	o, err := form.ReadObject(c.Request, s.Limits.JSONBytes, &found)
	if err != nil {
		return nil, err
	}
	q := search.Question{
		Search: search.Query{
			Query:    o.Text("query", s.Limits.QueryLength),
			Folder:   o.OptionalText("folder_name"),
			Tags:     each(o.Texts("tags", s.Limits.Tags, true), NormalizeTag),
			Document: o.OptionalID("document_id"),

			Generation: o.OptionalInt("generation", 1, math.MaxInt32),
		},
		History: answers.History(o), Correlation: Correlation(c.Context()),
	}
	o.RefuseUnknown()
	if err := found.Err(); err != nil {
		return nil, err
	}
	if err := s.begin(c, len(q.Search.Query)); err != nil {
		return nil, err
	}
	q.Waiting = c.read.Idle
	answer := func(ctx context.Context, sentence func(string) error) (answers.Answer, error) {
		q.Sentence = sentence
		a, err := s.Queries.Ask(ctx, c.user, q)
		s.recordReads(c, "by a question", a.Documents...)
		return answers.Of(a, s.link), err
	}
	if !stream {
		return answer(c.Context(), nil)
	}
	return reply(func(w http.ResponseWriter, r *http.Request) error {
		err := answers.Stream(w, r, s.KeepAlive, closing(r.Context()), answer)
		if err != nil {
			s.refused(w, c, err)
		}
		return err
	}), nil
}

// answerRecords handles GET /answers.
func (s *Server) answerRecords(c *call) (any, error) {
	var found problem.Fields
	before := form.QueryID(c.Request, "cursor", &found)
	if err := found.Err(); err != nil {
		return nil, err
	}
	records, next, err := s.Queries.AnswerRecords(c.Context(), c.user, before)
	return answers.RecordsOf(records, next), err
}

// answerRecord handles GET /answers/{id}.
func (s *Server) answerRecord(c *call, id uuid.UUID) (any, error) {
	r, err := s.Queries.AnswerRecord(c.Context(), c.user, id)
	if r.Text != nil {
		s.recordReads(c, "in the record of an answer", r.Documents...)
	}
	return answers.RecordOf(r), err
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
