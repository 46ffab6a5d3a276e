package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/projections/embeddings/embeddingstest"
)

// One of several nodes makes vectors. After it was killed, another one goes on; while the
// endpoint is away, all nodes import and search; and a rebuild with another model goes on beside
// searches by the earlier vectors.
func TestVectorsOfSeveralNodes(t *testing.T) {
	t.Parallel()
	endpoint := embeddingstest.Start(t, embeddingstest.Behaviour{Alike: [][]string{{"lighthouse", "beacon"}}})
	flags := func(model string) []string {
		s := endpoint.Settings()
		return []string{"--embeddings", s.URL, "--embeddings-model", model, "--embeddings-dimensions", fmt.Sprint(s.Dimensions)}
	}
	s := startNodes(t, 3, flags("words")...)
	running := []int{0, 1, 2}
	imported := func(i int, folder string, files int) {
		t.Helper()
		jobs, err := s.upload(t.Context(), i, folder, files, 20)
		if err != nil {
			t.Fatal(err)
		}
		s.wantImported(i, jobs)
	}
	complete := func() {
		t.Helper()
		for _, i := range running {
			s.await("all vectors are made", func() (bool, string) {
				m := s.get(i, "/metrics")
				return strings.Contains(m, "annals_embeddings_documents_waiting 0\n"), grepped(m, "annals_embeddings", "annals_projection_position")
			})
		}
	}
	// A word that no text has finds one that means the same, by its vector.
	meant := func() {
		t.Helper()
		for _, i := range running {
			s.await(fmt.Sprintf("node %d finds passages by their meaning", i), func() (bool, string) {
				found := s.ask(i, http.MethodPost, "/core/search", `{"query": "beacon"}`)
				return strings.Contains(found, "lighthouse"), found
			})
		}
	}
	making := func() bool {
		return slices.ContainsFunc(running, func(i int) bool {
			m := s.get(i, "/metrics")
			return strings.Contains(m, `annals_embeddings_texts_total{use="documents"}`) && !strings.Contains(m, `annals_embeddings_texts_total{use="documents"} 0`)
		})
	}

	// The lock may move to another node at any time, if the machine is busy.
	leader := func() (leader int) {
		t.Helper()
		s.await("a node leads the vectors", func() (bool, string) {
			for _, i := range running {
				var ready struct {
					Models []struct {
						Name  string
						Leads bool
					} `json:"read_models"`
				}
				if err := json.Unmarshal([]byte(s.get(i, "/readyz")), &ready); err != nil {
					t.Fatal(err)
				}
				for _, m := range ready.Models {
					if leader = i; m.Name == "vectors" && m.Leads {
						return true, ""
					}
				}
			}
			return false, "none"
		})
		return leader
	}

	imported(0, "first", 20)
	complete()
	if made := len(endpoint.Texts()); made >= 3*20 {
		t.Errorf("%d texts were sent for 20 passages, as if each of the three nodes made all vectors", made)
	}
	meant()

	endpoint.Set(func(b *embeddingstest.Behaviour) { b.TextTime = 200 * time.Millisecond }) // so that most are not made yet
	imported(0, "second", 100)
	killed := leader()
	_ = s.all[killed].end(os.Kill) // an error is expected, because the process was killed
	begun := time.Now()
	running = append(running[:killed:killed], running[killed+1:]...)
	endpoint.Set(func(b *embeddingstest.Behaviour) { b.TextTime = 20 * time.Millisecond })
	meant()
	complete()
	t.Logf("all vectors were made %s after the node that made them was killed", time.Since(begun).Round(100*time.Millisecond))
	if !making() {
		t.Error("no node made vectors after one was killed")
	}
	s.restart(killed)
	running = []int{0, 1, 2}
	meant()

	var away atomic.Bool
	away.Store(true)
	endpoint.Set(func(b *embeddingstest.Behaviour) {
		b.TextTime = 0
		b.Status = func(int, []string) int {
			if away.Load() {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		}
	})
	imported(0, "third", 10)
	for _, i := range running {
		s.await(fmt.Sprintf("node %d finds words while the endpoint is away", i), func() (bool, string) {
			found := s.ask(i, http.MethodPost, "/core/search", `{"query": "keeper7 third"}`)
			return strings.Contains(found, "third"), found
		})
	}
	away.Store(false)
	complete()
	meant()

	before := len(endpoint.Texts())
	endpoint.Set(func(b *embeddingstest.Behaviour) { b.TextTime = 5 * time.Millisecond })
	rebuilt := make(chan error, 1)
	go func() {
		rebuilt <- run(t.Context(), append(append([]string{"rebuild", "vectors", "--data", t.TempDir()}, s.args[:4]...), flags("other")...), nil, os.Stderr, os.Stderr)
	}()
	for done := false; !done; {
		select {
		case err := <-rebuilt:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
			meant()
		}
	}
	imported(1, "fourth", 10)
	complete()
	meant()
	if made := len(endpoint.Texts()) - before; made < 140 {
		t.Errorf("%d texts were sent for another model, want all 140", made)
	}
}

// grepped returns the lines of a text that begin with one of some words.
func grepped(text string, words ...string) (lines string) {
	for line := range strings.Lines(text) {
		for _, word := range words {
			if strings.HasPrefix(line, word) {
				lines += line
			}
		}
	}
	return lines
}
