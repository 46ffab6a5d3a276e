// Package llmtest is a scripted endpoint with the API of OpenAI, for tests. It imports no other
// package of this module.
package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Request is what the endpoint received.
type Request struct {
	Key       string
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	MaxTokens int    `json:"max_tokens"`
	Messages  []struct{ Role, Content string }
	Tools     []any `json:"tools"`
	// Temperature is nil if the request has none.
	Temperature *json.Number `json:"temperature"`

	// Question, Earlier and Passages are read from the last message, if it is the prompt for an answer.
	Question string `json:"-"`
	Earlier  []struct{ Question, Answer string }
	Passages []Passage `json:"-"`
}

// Passage is a passage in a prompt.
type Passage struct {
	Number                  int
	Document, Section, Text string
}

// Reply is what the endpoint does. The zero value replies with an empty text.
type Reply struct {
	Status int           // 0 means 200
	Body   string        // sent instead of a stream, if Status is set
	Header http.Header   // sent if Status is set
	Wait   time.Duration // before the reply; it ends early when the client goes
	Pieces []string      // of the text
	Pause  time.Duration // between pieces
	Raw    string        // sent instead of the stream of pieces
	Finish string        // "" means stop; "none" ends the connection without a reason
	Usage  [2]int        // tokens of the prompt and of the reply; not reported if zero
}

// Endpoint is a running endpoint.
type Endpoint struct {
	URL string

	mu       sync.Mutex
	requests []Request
	gone     chan struct{}
}

// Start starts an endpoint that replies as script says. It ends with the test.
func Start(t testing.TB, script func(Request) Reply) *Endpoint {
	e := &Endpoint{gone: make(chan struct{}, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q Request
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("the endpoint received %s %s: %v", r.Method, r.URL, err)
			return
		}
		q.Key = r.Header.Get("Authorization")
		q.read()
		e.mu.Lock()
		e.requests = append(e.requests, q)
		e.mu.Unlock()
		e.reply(w, r, script(q))
	}))
	t.Cleanup(server.Close)
	e.URL = server.URL + "/v1"
	return e
}

func (q *Request) read() {
	if len(q.Messages) == 0 {
		return
	}
	var data struct {
		Question string
		Earlier  []struct{ Question, Answer string }
		Passages []Passage
	}
	if json.Unmarshal([]byte(q.Messages[len(q.Messages)-1].Content), &data) == nil {
		q.Question, q.Earlier, q.Passages = data.Question, data.Earlier, data.Passages
	}
}

// Requests returns what the endpoint has received.
func (e *Endpoint) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Request(nil), e.requests...)
}

// Gone receives a value for each client that went before the end of its reply.
func (e *Endpoint) Gone() <-chan struct{} { return e.gone }

func (e *Endpoint) wait(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		e.gone <- struct{}{}
		return false
	}
}

func (e *Endpoint) reply(w http.ResponseWriter, r *http.Request, s Reply) {
	if !e.wait(r, s.Wait) {
		return
	}
	if s.Status != 0 {
		for name, values := range s.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(s.Status)
		fmt.Fprint(w, s.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if s.Raw != "" {
		fmt.Fprint(w, s.Raw)
		return
	}
	flush := http.NewResponseController(w).Flush
	for i, piece := range s.Pieces {
		if i > 0 && !e.wait(r, s.Pause) {
			return
		}
		fmt.Fprint(w, Event(piece, ""))
		if flush() != nil {
			return
		}
	}
	if s.Finish == "none" {
		panic(http.ErrAbortHandler)
	}
	finish := s.Finish
	if finish == "" {
		finish = "stop"
	}
	fmt.Fprint(w, Event("", finish))
	if s.Usage != [2]int{} {
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\n", s.Usage[0], s.Usage[1])
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// Event returns one event of a stream.
func Event(text, finish string) string {
	type delta struct {
		Content string `json:"content,omitempty"`
	}
	type choice struct {
		Index  int     `json:"index"`
		Delta  delta   `json:"delta"`
		Finish *string `json:"finish_reason"`
	}
	c := choice{Delta: delta{text}}
	if finish != "" {
		c.Finish = &finish
	}
	b, err := json.Marshal(map[string]any{"object": "chat.completion.chunk", "choices": []choice{c}})
	if err != nil {
		panic(err) // cannot happen: the struct has only plain fields
	}
	return "data: " + string(b) + "\n\n"
}
