// Package embeddingstest has an endpoint with the embeddings API of OpenAI for tests. Its
// vectors are computed from the words of a text. It may import projections/embeddings.
package embeddingstest

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"annals/projections/embeddings"
)

// Dimensions is the number of dimensions of the vectors.
const Dimensions = 64

// Endpoint is an endpoint. Its fields may be changed by Set.
type Endpoint struct {
	Behaviour

	model    chan struct{} // has an element while texts take TextTime
	mu       sync.Mutex
	url      string
	texts    []string
	requests int
}

// Behaviour is how an endpoint replies.
type Behaviour struct {
	Alike      [][]string                                  // words that mean the same
	Key        string                                      // the required key; "" means none
	Delay      time.Duration                               // before each reply
	TextTime   time.Duration                               // that each text takes, one after the other
	Dimensions int                                         // of the vectors; 0 means Dimensions
	Status     func(request int, texts []string) int       // status of the reply to a request, counted from 1; nil or 0 mean 200
	Refusal    string                                      // body of a reply with another status; "" means an error as of OpenAI
	Reply      func(w http.ResponseWriter, texts []string) // replies instead; may be nil
}

// New returns an endpoint for a server of the test.
func New(b Behaviour) *Endpoint { return &Endpoint{Behaviour: b, model: make(chan struct{}, 1)} }

// Start starts an endpoint, which ends with the test.
func Start(t testing.TB, b Behaviour) *Endpoint {
	t.Helper()
	e := New(b)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

// Settings returns the settings of a service that uses the endpoint. Searches wait long for
// their vectors, since machines that run tests are busy.
func (e *Endpoint) Settings() embeddings.Settings {
	return embeddings.Settings{URL: e.url + "/v1", Model: "words", Dimensions: Dimensions, Key: e.Key, QueryTime: time.Minute}
}

// Client returns a client of the endpoint.
func (e *Endpoint) Client() *embeddings.Client { return embeddings.New(e.Settings(), nil) }

// Set changes how the endpoint replies from now on.
func (e *Endpoint) Set(change func(b *Behaviour)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.Behaviour)
}

// Texts returns the texts of all requests so far.
func (e *Endpoint) Texts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.texts...)
}

// Requests returns the number of requests so far.
func (e *Endpoint) Requests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

type embedding struct {
	Object    string    `json:"object"`
	Index     int       `json:"index"`
	Embedding []float64 `json:"embedding"`
}

// ServeHTTP replies to POST /v1/embeddings.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Input []string `json:"input"`
		Model string   `json:"model"`
	}
	if r.URL.Path != "/v1/embeddings" || r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&asked) != nil || asked.Model == "" {
		http.Error(w, "no such request", http.StatusNotFound)
		return
	}
	e.mu.Lock()
	e.requests++
	request, b := e.requests, e.Behaviour
	e.texts = append(e.texts, asked.Input...)
	e.mu.Unlock()
	if b.TextTime > 0 {
		e.model <- struct{}{} // no mutex, for which the clock of testing/synctest would not wait
		defer func() { <-e.model }()
		b.Delay += time.Duration(len(asked.Input)) * b.TextTime
	}
	select {
	case <-time.After(b.Delay):
	case <-r.Context().Done():
		return
	}
	status := http.StatusOK
	if b.Key != "" && r.Header.Get("Authorization") != "Bearer "+b.Key {
		status = http.StatusUnauthorized
	} else if b.Status != nil {
		status = b.Status(request, asked.Input)
	}
	if status != http.StatusOK && status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, cmp.Or(b.Refusal, `{"error":{"message":"refused","type":"test"}}`))
		return
	}
	if b.Reply != nil {
		b.Reply(w, asked.Input)
		return
	}
	data := make([]embedding, len(asked.Input))
	for i, text := range asked.Input {
		data[len(data)-1-i] = embedding{"embedding", i, b.vector(text)} // the order is that of the indexes
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": asked.Model, "data": data})
}

// vector returns the sum of the vectors of the words of a text.
func (b Behaviour) vector(text string) []float64 {
	dimensions := b.Dimensions
	if dimensions == 0 {
		dimensions = Dimensions
	}
	sum := make([]float64, dimensions)
	sum[0] = .01 // a text without words has a vector, too
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		for _, group := range b.Alike {
			for _, other := range group {
				if word == other {
					word = group[0]
				}
			}
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(word))
		random := rand.New(rand.NewPCG(h.Sum64(), 0))
		for i := range sum {
			sum[i] += random.NormFloat64()
		}
	}
	return sum
}
