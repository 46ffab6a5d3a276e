package embeddings_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/events/fault"
	"annals/projections/embeddings"
	"annals/projections/embeddings/embeddingstest"
)

func TestTextsInOrder(t *testing.T) {
	e := embeddingstest.Start(t, embeddingstest.Behaviour{Key: "secret"})
	c := e.Client()
	var texts []string
	for i := range 100 {
		texts = append(texts, strings.Repeat("word ", i%7)+string(rune('a'+i%26)))
	}
	all, err := c.Texts(t.Context(), "words", embeddingstest.Dimensions, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		one, err := c.Query(t.Context(), "words", embeddingstest.Dimensions, text)
		if err != nil || !slices.Equal(one, all[i]) {
			t.Fatalf("Query(%q) = %v, %v, want the vector of Texts %v", text, one, err, all[i])
		}
		length := 0.0
		for _, x := range one {
			length += float64(x) * float64(x)
		}
		if math.Abs(length-1) > 1e-4 {
			t.Errorf("the vector of %q has the squared length %g, want 1", text, length)
		}
	}
	if n := e.Requests(); n > 4+100 {
		t.Errorf("%d requests for 100 texts and 100 queries, want batches of 32 texts", n)
	}
}

func TestQueryIsRemembered(t *testing.T) {
	e := embeddingstest.Start(t, embeddingstest.Behaviour{})
	c := e.Client()
	for range 3 {
		if _, err := c.Query(t.Context(), "words", embeddingstest.Dimensions, "the same"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Query(t.Context(), "others", embeddingstest.Dimensions, "the same"); err != nil {
		t.Fatal(err)
	}
	if n := e.Requests(); n != 2 {
		t.Errorf("%d requests for one query of two models, want 2", n)
	}
}

func TestRetriesTransientErrors(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		e := embeddingstest.Start(t, embeddingstest.Behaviour{Status: func(request int, _ []string) int {
			if request == 1 {
				return status
			}
			return http.StatusOK
		}})
		if v, err := e.Client().Texts(t.Context(), "words", embeddingstest.Dimensions, []string{"one"}); err != nil || len(v) != 1 || v[0] == nil {
			t.Errorf("after status %d: Texts = %v, %v, want a vector", status, v, err)
		}
	}
}

// A text that the endpoint refuses must not keep the others from being found, in whatever form
// the endpoint says so.
func TestSkipsRefusedText(t *testing.T) {
	for _, refusal := range []string{"", `{"error":"too long"}`, "too long"} {
		e := embeddingstest.Start(t, embeddingstest.Behaviour{Refusal: refusal, Status: func(_ int, texts []string) int {
			if slices.Contains(texts, "too long") {
				return http.StatusBadRequest
			}
			return http.StatusOK
		}})
		for _, bad := range []int{0, 17, 39} {
			var all []string
			for i := range 40 {
				all = append(all, fmt.Sprint("text ", i))
			}
			all[bad] = "too long"
			got, err := e.Client().Texts(t.Context(), "words", embeddingstest.Dimensions, all)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if (v == nil) != (i == bad) {
					t.Errorf("with text %d refused: the vector of text %d is %v", bad, i, v)
				}
			}
		}
		if v, err := e.Client().Texts(t.Context(), "words", embeddingstest.Dimensions, []string{"too long"}); err != nil || v[0] != nil {
			t.Errorf("Texts of a refused text = %v, %v, want no vector and no error", v, err)
		}
	}
}

// inMemory runs a test with an endpoint whose connections and clock are in memory, so that a
// busy machine does not slow it down.
func inMemory(t *testing.T, b embeddingstest.Behaviour, test func(t *testing.T, e *embeddingstest.Endpoint, s embeddings.Settings)) {
	synctest.Test(t, func(t *testing.T) {
		e := embeddingstest.New(b)
		l := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: e}
		go func() { _ = server.Serve(l) }()
		usual := http.DefaultTransport
		http.DefaultTransport = &http.Transport{DialContext: l.dial, DisableKeepAlives: true}
		defer func() {
			http.DefaultTransport = usual
			_ = server.Close()
			synctest.Wait()
		}()
		s := e.Settings()
		s.URL = "http://endpoint/v1"
		test(t, e, s)
	})
}

// pipes listens for connections that dial makes.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accepted <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "endpoint"} }

// An endpoint for which a full request takes too long gets smaller ones, and what it has made
// is not asked for again.
func TestSlowModelGetsSmallerRequests(t *testing.T) {
	inMemory(t, embeddingstest.Behaviour{TextTime: time.Second}, func(t *testing.T, e *embeddingstest.Endpoint, s embeddings.Settings) {
		s.RequestTime = 20 * time.Second // for 32 texts, 32 s are needed
		var made atomic.Int64            // texts in requests that succeeded
		c := embeddings.New(s, func(r embeddings.Request) {
			if r.Err == nil {
				made.Add(int64(r.Texts))
			}
		})
		var texts []string
		for i := range 200 {
			texts = append(texts, fmt.Sprint("text ", i))
		}
		tries := 1
		got, err := c.Texts(t.Context(), "words", embeddingstest.Dimensions, texts)
		for ; err != nil && tries < 20; tries++ {
			got, err = c.Texts(t.Context(), "words", embeddingstest.Dimensions, texts)
		}
		if err != nil || slices.ContainsFunc(got, func(v []float32) bool { return v == nil }) {
			t.Fatalf("Texts after %d tries: %d vectors, %v, want one for each text", tries, len(got), err)
		}
		if int(made.Load()) != len(texts) || tries == 1 {
			t.Errorf("after %d tries, the endpoint had made %d vectors for %d texts, want each once", tries, made.Load(), len(texts))
		}
	})
}

// What a failed call has made waits for its repetition, whatever other calls do meanwhile.
func TestFailedCallsKeepTheirVectors(t *testing.T) {
	inMemory(t, embeddingstest.Behaviour{}, func(t *testing.T, e *embeddingstest.Endpoint, s embeddings.Settings) {
		const last = "text 199" // of the seventh request, which begins when three have ended
		broken := func(_ int, texts []string) int {
			if slices.Contains(texts, last) {
				return http.StatusNotFound
			}
			return http.StatusOK
		}
		c := embeddings.New(s, nil)
		var texts []string
		for i := range 200 {
			texts = append(texts, fmt.Sprint("text ", i))
		}
		e.Set(func(b *embeddingstest.Behaviour) { b.Status = broken })
		if _, err := c.Texts(t.Context(), "words", embeddingstest.Dimensions, texts); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("Texts: %v, want fault.Unavailable", err)
		}
		e.Set(func(b *embeddingstest.Behaviour) { b.Status = nil })
		var others sync.WaitGroup
		for i := range 4 { // of other generations
			others.Go(func() {
				if got, err := c.Texts(t.Context(), fmt.Sprint("model ", i), embeddingstest.Dimensions, texts[:50]); err != nil || len(got) != 50 || got[0] == nil {
					t.Errorf("Texts of another model: %d vectors, %v", len(got), err)
				}
			})
		}
		others.Wait()
		before := len(e.Texts())
		got, err := c.Texts(t.Context(), "words", embeddingstest.Dimensions, texts)
		if n := len(e.Texts()) - before; err != nil || got[0] == nil || got[199] == nil || n > 200-96 {
			t.Errorf("the repetition asked for %d texts, %v, want only those that lack a vector", n, err)
		}
		if _, err := c.Texts(t.Context(), "words", embeddingstest.Dimensions, texts); err != nil || len(e.Texts())-before <= 200 {
			t.Errorf("after the repetition succeeded, its vectors are kept still")
		}
	})
}

// The model of an earlier generation may have many more dimensions than that of the settings.
func TestEarlierModel(t *testing.T) {
	e := embeddingstest.Start(t, embeddingstest.Behaviour{Dimensions: 4096})
	c := e.Client()
	texts := make([]string, 32)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	if _, err := c.Texts(t.Context(), "words", 4096, texts); err != nil {
		t.Error(err)
	}
	if v, err := c.Query(t.Context(), "words", 4096, "text"); err != nil || len(v) != 4096 {
		t.Errorf("Query = %d dimensions, %v, want 4096", len(v), err)
	}
	e.Set(func(b *embeddingstest.Behaviour) { b.Dimensions = 0 })
	if v, err := c.Query(t.Context(), "words", embeddingstest.Dimensions, "text"); err != nil || len(v) != embeddingstest.Dimensions {
		t.Errorf("Query = %d dimensions, %v, want %d", len(v), err, embeddingstest.Dimensions)
	}
}

// The log gets the errors, but not the key, which an endpoint may repeat.
func TestErrorsSayTheCause(t *testing.T) {
	for want, b := range map[string]embeddingstest.Behaviour{
		"refused the key": {Key: "other", Refusal: `{"error":"no such key: secret"}`},
		"status 404":      {Status: func(int, []string) int { return http.StatusNotFound }},
		"cannot be read": {Reply: func(w http.ResponseWriter, _ []string) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[NaN]}]}`)
		}},
		"32 dimensions": {Dimensions: 32},
		"not respond":   {Delay: time.Hour},
	} {
		s := embeddingstest.Start(t, b).Settings()
		s.Key = "secret"
		if b.Delay > 0 {
			s.QueryTime = 50 * time.Millisecond
		}
		_, err := embeddings.New(s, nil).Query(t.Context(), "words", embeddingstest.Dimensions, "text")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(fmt.Sprint(err, errors.Unwrap(err)), "secret") {
			t.Errorf("Query: %v (%v), want %q without the key", err, errors.Unwrap(err), want)
		}
	}
}

func TestUnusableReplies(t *testing.T) {
	reply := func(text string) func(http.ResponseWriter, []string) {
		return func(w http.ResponseWriter, _ []string) { _, _ = io.WriteString(w, text) }
	}
	zeros := strings.Repeat("0,", embeddingstest.Dimensions-1) + "0"
	for name, b := range map[string]embeddingstest.Behaviour{
		"all texts refused": {Status: func(int, []string) int { return http.StatusBadRequest }},
		"other key":         {Key: "other"},
		"dimensions":        {Dimensions: 32},
		"no JSON":           {Reply: reply(`<html>`)},
		"no vectors":        {Reply: reply(`{"data":[]}`)},
		"index":             {Reply: reply(`{"data":[{"index":7,"embedding":[1]}]}`)},
		"no direction":      {Reply: reply(`{"data":[{"index":0,"embedding":[` + zeros + `]}]}`)},
		"endless": {Reply: func(w http.ResponseWriter, _ []string) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[`)
			for range 1 << 20 {
				if _, err := io.WriteString(w, "0.125,0.125,0.125,0.125,0.125,0.125,0.125,0.125,"); err != nil {
					return
				}
			}
		}},
	} {
		e := embeddingstest.Start(t, b)
		e.Set(func(*embeddingstest.Behaviour) {})
		s := e.Settings()
		if name == "other key" {
			s.Key = "mine"
		}
		c := embeddings.New(s, nil)
		if v, err := c.Texts(t.Context(), "words", embeddingstest.Dimensions, []string{"text"}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: Texts = %v, %v, want fault.Unavailable", name, v, err)
		}
		if v, err := c.Query(t.Context(), "words", embeddingstest.Dimensions, "text"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: Query = %v, %v, want fault.Unavailable", name, v, err)
		}
	}
}

// A slow endpoint delays a search only briefly, and after some searches not at all.
func TestSlowEndpoint(t *testing.T) {
	e := embeddingstest.Start(t, embeddingstest.Behaviour{Delay: time.Hour})
	s := e.Settings()
	s.QueryTime = 50 * time.Millisecond
	c := embeddings.New(s, nil)
	for i := range 5 {
		begun := time.Now()
		_, err := c.Query(t.Context(), "words", embeddingstest.Dimensions, fmt.Sprint("query ", i))
		if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took > time.Minute {
			t.Errorf("query %d: %v after %v, want fault.Unavailable after %v", i, err, took, s.QueryTime)
		}
	}
	if n := e.Requests(); n > 3 {
		t.Errorf("%d queries were sent to an endpoint that does not respond, want 3", n)
	}
}

func TestCanceledQueriesAreNoFailures(t *testing.T) {
	e := embeddingstest.Start(t, embeddingstest.Behaviour{})
	c := e.Client()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 10 {
		if _, err := c.Query(canceled, "words", embeddingstest.Dimensions, fmt.Sprint(i)); !errors.Is(err, context.Canceled) {
			t.Fatalf("Query with a canceled context: %v", err)
		}
	}
	if _, err := c.Query(t.Context(), "words", embeddingstest.Dimensions, "text"); err != nil {
		t.Errorf("Query after canceled ones: %v", err)
	}
}

// Users who go while the endpoint fails must not keep others asking it.
func TestCanceledQueriesHideNoFailures(t *testing.T) {
	e := embeddingstest.Start(t, embeddingstest.Behaviour{Status: func(int, []string) int { return http.StatusBadGateway }})
	c := e.Client()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 10 {
		_, _ = c.Query(t.Context(), "words", embeddingstest.Dimensions, fmt.Sprint(i))
		_, _ = c.Query(canceled, "words", embeddingstest.Dimensions, fmt.Sprint(i))
	}
	if n := e.Requests(); n != 3 {
		t.Errorf("%d queries were sent to an endpoint that fails, want 3", n)
	}
}

// The key must not be sent to another host.
func TestFollowsNoRedirect(t *testing.T) {
	other := embeddingstest.Start(t, embeddingstest.Behaviour{})
	redirecting := httptest.NewServer(http.RedirectHandler(other.Settings().URL+"/embeddings", http.StatusTemporaryRedirect))
	defer redirecting.Close()
	s := other.Settings()
	s.URL, s.Key = redirecting.URL, "secret"
	if _, err := embeddings.New(s, nil).Query(t.Context(), "words", embeddingstest.Dimensions, "text"); !fault.Is(err, fault.Unavailable) || other.Requests() > 0 {
		t.Errorf("Query of a redirecting endpoint: %v after %d redirected requests, want fault.Unavailable after none", err, other.Requests())
	}
}

func TestCheck(t *testing.T) {
	good := embeddings.Settings{URL: "https://host/v1", Model: "m", Dimensions: 384}
	if err := good.Check(); err != nil || !good.On() {
		t.Errorf("Check(%+v) = %v, On = %t", good, err, good.On())
	}
	if off := (embeddings.Settings{Key: "secret"}); off.On() || off.Check() != nil {
		t.Errorf("a key alone: On = %t, Check = %v", off.On(), off.Check())
	}
	for _, change := range []func(*embeddings.Settings){
		func(s *embeddings.Settings) { s.URL = "" },
		func(s *embeddings.Settings) { s.URL = "host:80" },
		func(s *embeddings.Settings) { s.URL = "ftp://host" },
		func(s *embeddings.Settings) { s.URL = "https://key@host" },
		func(s *embeddings.Settings) { s.URL = "https://host?key=1" },
		func(s *embeddings.Settings) { s.Model = "" },
		func(s *embeddings.Settings) { s.Model = strings.Repeat("m", 300) },
		func(s *embeddings.Settings) { s.Dimensions = 0 },
		func(s *embeddings.Settings) { s.Dimensions = 100 },
		func(s *embeddings.Settings) { s.Dimensions = 1 << 20 },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || !strings.HasPrefix(err.Error(), "--embeddings") || strings.Contains(err.Error(), "key@") {
			t.Errorf("Check(%+v) = %v, want an error that names the flag", bad, err)
		}
	}
}
