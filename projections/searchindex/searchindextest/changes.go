package searchindextest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/projections/searchindex"
)

func testEmpty(t *testing.T, open Open) {
	e := open(t, "a")
	wantCount(t, e, 0)
	wantPosition(t, e, 0)
	if hits := search(t, e, searchindex.Query{Text: "anything", All: true}); len(hits) != 0 {
		t.Errorf("Search in an empty index = %v, want none", hits)
	}
	apply(t, e, searchindex.Batch{Position: 7})
	wantPosition(t, e, 7)
	wantCount(t, e, 0)
}

func testChanges(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Position: 3, Put: []searchindex.Passage{
		{ID: "1", Text: "the lighthouse keeper counts ships"}, {ID: "2", Text: "a meadow of poppies"},
	}})
	apply(t, e, searchindex.Batch{Position: 9, Delete: []string{"2", "unknown", "1"}, Put: []searchindex.Passage{
		{ID: "1", Text: "the miller counts sacks"}, {ID: "3", Text: "ships at sea"},
	}})
	wantPosition(t, e, 9)
	wantCount(t, e, 2)
	for text, want := range map[string]string{"lighthouse": "", "poppies": "", "miller": "1", "ships": "3", "counting": "1"} {
		if got := ids(search(t, e, searchindex.Query{Text: text, All: true})); got != want {
			t.Errorf("Search(%q) finds %q, want %q", text, got, want)
		}
	}
}

func testReopen(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Position: 12, Put: generate(1, 300)})
	q := searchindex.Query{Text: "w1 w40 w300", All: true, Limit: 20}
	want := search(t, e, q)
	if err := e.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	e = open(t, "a")
	wantPosition(t, e, 12)
	wantCount(t, e, 300)
	wantSame(t, search(t, e, q), want)
}

func testBatching(t *testing.T, open Open) {
	passages := generate(3, 900)
	once := open(t, "once")
	apply(t, once, searchindex.Batch{Put: passages, Position: 1})

	many := open(t, "many")
	for i, p := range slices.Backward(passages) {
		if i%3 == 0 { // an older, longer text with other words
			p.Text = strings.Repeat("w1 w2 other ", 1+i%50)
			apply(t, many, searchindex.Batch{Put: []searchindex.Passage{p}, Position: 1})
		}
		if len(passages)-i > 60 {
			break
		}
	}
	apply(t, many, searchindex.Batch{Put: generate(4, 1200), Position: 1})
	for chunk := range slices.Chunk(passages, 37) {
		apply(t, many, searchindex.Batch{Put: chunk, Position: 1})
	}
	var extra []string
	for _, p := range generate(4, 1200)[900:] {
		extra = append(extra, p.ID)
	}
	apply(t, many, searchindex.Batch{Delete: extra, Position: 1})
	wantCount(t, many, 900)

	rnd := rand.New(rand.NewPCG(5, 5))
	for range 60 {
		q := searchindex.Query{Text: sentence(rnd, 1+rnd.IntN(8)), All: true, Limit: 40}
		wantSame(t, search(t, many, q), search(t, once, q))
	}
}

// testConcurrent checks that a search sees all of a batch or nothing of it.
func testConcurrent(t *testing.T, open Open) {
	e := open(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				hits, err := e.Search(ctx, searchindex.Query{Text: "lighthouse", All: true, Limit: 1000})
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("Search while writing: %v", err)
					return
				}
				if len(hits)%10 != 0 {
					t.Errorf("a search found %d passages, want a multiple of 10, the batch size", len(hits))
					return
				}
			}
		})
	}
	for i := range 20 {
		b := searchindex.Batch{Position: events.Position(i + 1)}
		for j := range 10 {
			b.Put = append(b.Put, searchindex.Passage{ID: fmt.Sprintf("%d/%d", i, j), Text: "lighthouse " + strconv.Itoa(j)})
		}
		apply(t, e, b)
	}
	cancel()
	readers.Wait()
	wantCount(t, e, 200)
}
