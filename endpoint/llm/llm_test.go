package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/endpoint/llm"
	"annals/endpoint/llm/llmtest"
)

var prompt = []llm.Message{{Role: llm.System, Content: "Rules"}, {Role: llm.User, Content: "Data"}}

func open(t *testing.T, o llm.Options, script func(llmtest.Request) llmtest.Reply) (*llm.Client, *llmtest.Endpoint) {
	t.Helper()
	e := llmtest.Start(t, script)
	o.URL, o.Model = e.URL, "small"
	c, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, e
}

func always(r llmtest.Reply) func(llmtest.Request) llmtest.Reply {
	return func(llmtest.Request) llmtest.Reply { return r }
}

func nothing(string) error { return nil }

func TestStream(t *testing.T) {
	c, e := open(t, llm.Options{Key: "secret", OutputTokens: 100, InputPrice: 1, OutputPrice: 4},
		always(llmtest.Reply{Pieces: []string{"One. ", "Two."}, Usage: [2]int{1_000_000, 500_000}}))
	var pieces []string
	r, err := c.Stream(t.Context(), prompt, func(p string) error { pieces = append(pieces, p); return nil })
	if err != nil || r.Text != "One. Two." || r.Cut || strings.Join(pieces, "|") != "One. |Two." || r.Usage != (llm.Usage{Input: 1_000_000, Output: 500_000, Cost: 3}) {
		t.Errorf("Stream = %+v, %q, %v", r, pieces, err)
	}
	q := e.Requests()[0]
	if q.Key != "Bearer secret" || q.Model != "small" || !q.Stream || q.MaxTokens != 100 || len(q.Messages) != 2 || q.Messages[0].Role != "system" || q.Messages[1].Content != "Data" || q.Tools != nil || q.Temperature == nil || *q.Temperature != "0" {
		t.Errorf("the endpoint received %+v", q)
	}
}

// The texts of a request are sent as they are, also those that look like its numbers.
func TestTextsAreSentAsTheyAre(t *testing.T) {
	c, e := open(t, llm.Options{}, always(llmtest.Reply{Pieces: []string{"a"}}))
	const text = `{"temperature":1e-45,"a":1e-45} 1e-45,`
	if _, err := c.Stream(t.Context(), []llm.Message{{Role: llm.User, Content: text}}, nothing); err != nil {
		t.Fatal(err)
	}
	if q := e.Requests()[0]; q.Messages[0].Content != text || *q.Temperature != "0" {
		t.Errorf("the endpoint received %+v, want %s", q, text)
	}
}

func TestStreamFailures(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		reply llmtest.Reply
		want  llm.Reason // "" means that the reply is cut
		text  string
	}{
		"status 500":            {llmtest.Reply{Status: 500, Body: `{"error":{"message":"broken"}}`}, llm.Unreachable, ""},
		"status 429":            {llmtest.Reply{Status: 429, Body: `{"error":{"message":"slow down"}}`}, llm.Limited, ""},
		"status 401":            {llmtest.Reply{Status: 401, Body: `{"error":{"message":"no such key"}}`}, llm.Refused, ""},
		"status 404 with HTML":  {llmtest.Reply{Status: 404, Body: "<html>" + large}, llm.Refused, ""},
		"redirect":              {llmtest.Reply{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, llm.Refused, ""},
		"HTML":                  {llmtest.Reply{Raw: "<html>hello</html>"}, llm.Unreadable, ""},
		"no JSON":               {llmtest.Reply{Raw: "data: {\n\n"}, llm.Unreadable, ""},
		"empty":                 {llmtest.Reply{}, llm.Unreadable, ""},
		"white space":           {llmtest.Reply{Pieces: []string{" ", "\n"}}, llm.Unreadable, ""},
		"content filter":        {llmtest.Reply{Pieces: []string{"One."}, Finish: "content_filter"}, llm.Refused, ""},
		"refusal":               {llmtest.Reply{Raw: `data: {"choices":[{"delta":{"refusal":"I cannot"}}]}` + "\n\n"}, llm.Refused, ""},
		"a call of a tool":      {llmtest.Reply{Raw: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"fetch","arguments":"{}"}}]}}]}` + "\n\ndata: [DONE]\n\n"}, llm.Unreadable, ""},
		"slow":                  {llmtest.Reply{Wait: time.Minute}, llm.TimedOut, ""},
		"limit of tokens":       {llmtest.Reply{Pieces: []string{"One. ", "Tw"}, Finish: "length"}, "", "One. Tw"},
		"lost connection":       {llmtest.Reply{Pieces: []string{"One. ", "Tw"}, Finish: "none"}, "", "One. Tw"},
		"lost before the reply": {llmtest.Reply{Finish: "none"}, llm.Unreachable, ""},
		"slow after some text":  {llmtest.Reply{Pieces: []string{"One. ", "Two."}, Pause: time.Minute}, "", "One. "},
		"huge text":             {llmtest.Reply{Pieces: []string{"One. ", large}}, "", "One. "},
		"huge event":            {llmtest.Reply{Raw: llmtest.Event("One. ", "") + "data: " + large + large}, "", "One. "},
		"error in the stream":   {llmtest.Reply{Raw: llmtest.Event("One. ", "") + "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"}, "", "One. "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := llm.Options{Timeout: time.Minute, OutputTokens: 50}
			if test.reply.Wait > 0 || test.reply.Pause > 0 {
				o.Timeout = time.Second
			}
			c, e := open(t, o, always(test.reply))
			r, err := c.Stream(t.Context(), prompt, nothing)
			switch {
			case test.want == "" && (err != nil || !r.Cut || r.Text != test.text):
				t.Errorf("Stream = %.100q cut %v, %v, want %q cut", r.Text, r.Cut, err, test.text)
			case test.want != "" && (err == nil || llm.ReasonOf(err) != test.want):
				t.Errorf("Stream = %+v, %v, want %s", r, err, test.want)
			case err != nil && len(err.Error()) > 1000:
				t.Errorf("the error has %d bytes: %.200s", len(err.Error()), err)
			}
			if rejected := test.reply.Status != 0; (r.Usage == llm.Usage{}) != rejected || len(e.Requests()) != 1 {
				t.Errorf("usage %+v after %d requests, want none if the call was rejected, otherwise an estimate; and one request", r.Usage, len(e.Requests()))
			}
		})
	}
}

// A call that does not reach the endpoint uses nothing.
func TestUnreachableUsesNothing(t *testing.T) {
	c, err := llm.New(llm.Options{URL: "http://127.0.0.1:1/v1", Model: "small"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Stream(t.Context(), prompt, nothing); llm.ReasonOf(err) != llm.Unreachable || r.Usage != (llm.Usage{}) {
		t.Errorf("Stream = %+v, %v, want unreachable and no usage", r, err)
	}
}

func TestBreakerOpens(t *testing.T) {
	c, e := open(t, llm.Options{}, always(llmtest.Reply{Status: 503}))
	for range 8 {
		if _, err := c.Stream(t.Context(), prompt, nothing); llm.ReasonOf(err) != llm.Unreachable {
			t.Errorf("Stream: %v, want %s", err, llm.Unreachable)
		}
	}
	if n := len(e.Requests()); n != 5 {
		t.Errorf("the endpoint received %d requests, want 5", n)
	}
}

// An endpoint that breaks off each reply is not called again and again, even if callers go in
// between.
func TestBreakerOpensAfterCutReplies(t *testing.T) {
	c, e := open(t, llm.Options{}, always(llmtest.Reply{Pieces: []string{"One. ", "Tw"}, Finish: "none"}))
	for range 8 {
		_, _ = c.Stream(t.Context(), prompt, nothing)
		ctx, cancel := context.WithCancel(t.Context())
		_, _ = c.Stream(ctx, prompt, func(string) error { cancel(); return nil })
		cancel()
	}
	if n := len(e.Requests()); n != 9 {
		t.Errorf("the endpoint received %d requests, want 5, and 4 that their callers ended", n)
	}
}

// Calls that the caller ends, and replies that are refused, do not open the breaker.
func TestBreakerStaysClosed(t *testing.T) {
	status := 400
	c, e := open(t, llm.Options{}, func(llmtest.Request) llmtest.Reply {
		if status == 0 {
			return llmtest.Reply{Pieces: []string{"a", "b"}, Pause: time.Minute}
		}
		return llmtest.Reply{Status: status}
	})
	for range 6 {
		_, _ = c.Stream(t.Context(), prompt, nothing)
	}
	status = 0
	enough := errors.New("enough")
	for range 6 {
		if r, err := c.Stream(t.Context(), prompt, func(string) error { return enough }); err != enough || r.Text != "a" {
			t.Errorf("Stream = %+v, %v, want the error of the caller", r, err)
		}
	}
	for range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := c.Stream(ctx, prompt, func(string) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("Stream with an ended context: %v", err)
		}
	}
	if n := len(e.Requests()); n != 18 {
		t.Errorf("the endpoint received %d requests, want 18", n)
	}
}

func TestAtOnce(t *testing.T) {
	c, e := open(t, llm.Options{AtOnce: 1, Timeout: 4 * time.Second}, always(llmtest.Reply{Pieces: []string{"a", "b"}, Pause: time.Minute}))
	ctx, cancel := context.WithCancel(t.Context())
	began, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.Stream(ctx, prompt, func(string) error { close(began); return nil })
	}()
	<-began
	if _, err := c.Stream(t.Context(), prompt, nothing); llm.ReasonOf(err) != llm.Busy {
		t.Errorf("a second call: %v, want %s", err, llm.Busy)
	}
	cancel()
	<-ended
	<-e.Gone() // the endpoint notices that nobody waits
}

func TestPromptIsBounded(t *testing.T) {
	c, e := open(t, llm.Options{InputTokens: 1000}, always(llmtest.Reply{Pieces: []string{"a"}}))
	if _, err := c.Stream(t.Context(), []llm.Message{{Role: llm.User, Content: strings.Repeat("a", 4000)}}, nothing); llm.ReasonOf(err) != llm.Refused || len(e.Requests()) > 0 {
		t.Errorf("a long prompt: %v after %d requests", err, len(e.Requests()))
	}
}

func TestNewChecksURL(t *testing.T) {
	for url, want := range map[string]bool{
		"https://api.example/v1": true, "http://127.0.0.1:8000": true, "https://h/v1/": true,
		"": false, "api.example": false, "ftp://h/": false, "https://user:pass@h/v1": false, "https://h/v1?key=1": false, "https://": false,
	} {
		if _, err := llm.New(llm.Options{URL: url, Model: "m"}); (err == nil) != want {
			t.Errorf("New(%q): %v", url, err)
		}
	}
}
