package meilisearch

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/projections/searchindex"

	"github.com/google/uuid"
	"github.com/meilisearch/meilisearch-go"
)

const (
	benchPassages = 20_000
	benchBatch    = 2000
	benchTask     = 10 << 20
)

// benchPassage returns a passage of about 150 words, distributed as in natural language.
func benchPassage(rnd *rand.Rand, i int) searchindex.Passage {
	var text strings.Builder
	for range 100 + rnd.IntN(100) {
		text.WriteString("w" + strconv.Itoa(int(math.Exp(rnd.Float64()*math.Log(100_000)))) + " ")
	}
	return searchindex.Passage{
		ID: fmt.Sprintf("%s/1/%d/0", uuid.NewSHA1(uuid.Nil, []byte(strconv.Itoa(i/50))), i%50), Document: strconv.Itoa(i / 50),
		Folders: []string{"top", "folder" + strconv.Itoa(i%100)}, Tags: []string{"tag" + strconv.Itoa(i%10)},
		Title: "Document " + strconv.Itoa(i/50), Section: "Section " + strconv.Itoa(i%50), Text: text.String(),
	}
}

// BenchmarkRebuildMeilisearch compares the time that a rebuild takes to fill an index
// with that of a loop that only sends the same documents in tasks of 10 MB and waits for
// the last task.
func BenchmarkRebuildMeilisearch(b *testing.B) {
	s := benchServer(b)
	rnd := rand.New(rand.NewPCG(1, 1))
	var batches []searchindex.Batch
	for i := range benchPassages {
		if i%benchBatch == 0 {
			batches = append(batches, searchindex.Batch{})
		}
		last := &batches[len(batches)-1]
		last.Put = append(last.Put, benchPassage(rnd, i))
	}
	var ours, bare time.Duration
	rounds := 0
	for b.Loop() {
		for _, oursFirst := range []bool{true, false} {
			if oursFirst {
				ours += benchFill(b, s, batches)
				bare += benchBare(b, s, batches)
			} else {
				bare += benchBare(b, s, batches)
				ours += benchFill(b, s, batches)
			}
			rounds++
		}
	}
	passages := float64(rounds * benchPassages)
	b.ReportMetric(passages/ours.Seconds(), "passages/s")
	b.ReportMetric(passages/bare.Seconds(), "bare/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
}

func benchServer(b *testing.B) *server {
	text := os.Getenv("ANNALS_TEST_MEILISEARCH")
	if text == "" {
		b.Skip("ANNALS_TEST_MEILISEARCH is empty: set it to the URL of a server")
	}
	u, err := url.Parse(text)
	if err != nil {
		b.Fatal("ANNALS_TEST_MEILISEARCH is not a URL")
	}
	query := u.Query()
	query.Set("prefix", query.Get("prefix")+uuid.NewString()+"-")
	u.RawQuery = query.Encode()
	s, err := open(u.String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// benchIndex returns an empty index with its settings, which is removed at the end.
func benchIndex(b *testing.B, s *server) *index {
	generation := uuid.NewString()
	x := s.index(generation)
	if err := x.Apply(b.Context(), searchindex.Batch{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Remove(context.Background(), generation); err != nil {
			b.Error(err)
		}
	})
	return x
}

func benchFill(b *testing.B, s *server, batches []searchindex.Batch) time.Duration {
	x := benchIndex(b, s)
	begun := time.Now()
	for _, batch := range batches {
		if err := x.Fill(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := x.Settle(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}

// benchBare fills an index by a loop that does not use this package.
func benchBare(b *testing.B, s *server, batches []searchindex.Batch) time.Duration {
	x := benchIndex(b, s)
	var bodies [][]byte
	var body bytes.Buffer
	for i, batch := range batches {
		if err := appendBatch(&body, batch); err != nil {
			b.Fatal(err)
		}
		if body.Len() >= benchTask || i == len(batches)-1 {
			bodies = append(bodies, bytes.Clone(body.Bytes()))
			body.Reset()
		}
	}
	begun := time.Now()
	var last int64
	for _, body := range bodies {
		info, err := x.index.AddDocumentsNdjsonWithContext(b.Context(), body, nil)
		if err != nil {
			b.Fatal(err)
		}
		last = info.TaskUID
	}
	task, err := s.client.WaitForTaskWithContext(b.Context(), last, 10*time.Millisecond)
	if err != nil || task.Status != meilisearch.TaskStatusSucceeded {
		b.Fatalf("task %d: %v, %v", last, task, err)
	}
	return time.Since(begun)
}
