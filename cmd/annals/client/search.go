package client

import (
	"context"
	"net/http"
	"time"
)

// Query is a search or a question.
type Query struct {
	Text       string `json:"query"`
	Folder     string `json:"folder_name,omitempty"`
	Limit      int    `json:"limit,omitempty"`      // of a search; 0 means the server's default
	Generation int    `json:"generation,omitempty"` // of the passages, for administrators; 0 means the active one
}

// Passage is a search result, or a source of an answer.
type Passage struct {
	Document  string `json:"doc_id"`
	StartPage int    `json:"start_page"` // 0 if the document has no pages
	EndPage   int    `json:"end_page"`
	Text      string `json:"text"`
}

// Answer is the reply to a question.
type Answer struct {
	Text       string    `json:"answer"`
	Confidence float64   `json:"confidence"`
	Sources    []Passage `json:"sources"`
}

// Search returns the passages that match a query, best first. took is the duration of the
// last attempt, without the pauses before it.
func (c *Core) Search(ctx context.Context, q Query) (found []Passage, took time.Duration, err error) {
	var page struct {
		Sources []Passage `json:"sources"`
	}
	took, err = c.timed(ctx, "/search", q, &page)
	return page.Sources, took, err
}

// Ask returns the answer to a question. took is as in Search.
func (c *Core) Ask(ctx context.Context, q Query) (a Answer, took time.Duration, err error) {
	took, err = c.timed(ctx, "/ask", q, &a)
	return a, took, err
}

func (c *Core) timed(ctx context.Context, path string, q Query, into any) (took time.Duration, err error) {
	var begun time.Time
	request := c.Request(ctx, http.MethodPost, path, "", q)
	reply, err := c.Do(ctx, func() (*http.Request, error) {
		begun = time.Now()
		return request()
	})
	took = time.Since(begun)
	if err != nil {
		return took, err
	}
	return took, reply.Decode(into)
}
