package projections_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"annals/events/memory"
	"annals/projections/projectionstest/golden"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// TestRankingGolden compares the hits of each engine for the same queries and passages
// with the recorded hits. If the content of the index changes, raise the Version of the
// passages. If only scores change, do not raise it: each search computes its scores.
func TestRankingGolden(t *testing.T) {
	server, err := meilisearch.Kind.Open(meilisearchtest.New(t).URL("test-"), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	stored := openSet(t, memory.New()).Runner(passages.Name)
	for name, store := range map[string]searchindex.Store{"bleve": bleve.Folder(t.TempDir()), "meilisearch": server} {
		t.Run(name, func(t *testing.T) {
			engine, err := store.Open(t.Context(), "golden")
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			all := goldenPassages()
			for i := range 3 { // several segments; the last batch also replaces and deletes
				b := searchindex.Batch{Put: all[i*100 : (i+1)*100]}
				if i == 2 {
					b.Put = append(b.Put, all[7], all[150])
					b.Delete = []string{all[3].ID, all[120].ID}
				}
				if err := engine.Apply(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			for _, q := range goldenQueries() {
				hits, err := engine.Search(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%.60s, with %d more terms, from hit %d\n", q.Text, len(q.More), q.Offset+1)
				for _, h := range hits {
					fmt.Fprintf(&out, "\t%s %.9g\n", h.ID, h.Score)
				}
			}
			golden.Check{File: "testdata/ranking-" + name + ".txt", Changed: "the hits of searches in " + name + ", or their scores, have changed", Raise: versionOf(stored)}.Run(t, func(int) []byte { return out.Bytes() })
		})
	}
}

// numbers is a random generator that returns the same numbers in every version of Go.
type numbers struct{ state uint64 }

func (n *numbers) below(bound int) int {
	n.state = n.state*6364136223846793005 + 1442695040888963407
	return int(n.state >> 33 % uint64(bound))
}

// goldenWord returns one of 400 words, many of which are misspellings of others.
func goldenWord(n int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for n += 37; n > 0; n /= 5 * len(consonants) {
		b.WriteByte(consonants[n%len(consonants)])
		b.WriteByte(vowels[n/len(consonants)%5])
	}
	return b.String() + "nar"[:n%3+2] + strings.Repeat("e", n%2)
}

func goldenSentence(rnd *numbers, words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(goldenWord(rnd.below(1+rnd.below(400))) + " ")
	}
	return strings.TrimSpace(b.String())
}

// goldenPassages are 300 passages of 20 to 100 words.
func goldenPassages() []searchindex.Passage {
	rnd := &numbers{15}
	passages := make([]searchindex.Passage, 300)
	for i := range passages {
		passages[i] = searchindex.Passage{
			ID: fmt.Sprintf("%03d", i), Document: fmt.Sprint("d", i/4), Folders: []string{"top", fmt.Sprint("f", i%5)},
			Tags: []string{fmt.Sprint("t", i%3)}, Title: goldenSentence(rnd, 3), Section: goldenSentence(rnd, 2), Text: goldenSentence(rnd, 20+rnd.below(80)),
		}
	}
	return passages
}

// goldenQueries returns queries with each kind of filter, of few and many words, with
// misspelt and incomplete words, and with further terms.
func goldenQueries() []searchindex.Query {
	rnd := &numbers{16}
	var all []searchindex.Query
	for i := range 60 {
		text := goldenSentence(rnd, 1+i%7)
		switch i % 5 {
		case 1:
			text = text[:len(text)-1] // the beginning of a word
		case 2:
			text = text[:len(text)/2] + "x" + text[len(text)/2:]
		case 3:
			text = "what is the " + text
		}
		if i == 59 {
			text = goldenSentence(rnd, 90) // more words than are ranked
		}
		q := searchindex.Query{Text: text, All: i%4 == 0, Limit: 8}
		if !q.All {
			q.Granted = []string{fmt.Sprint("f", i%5), "f3", "unknown"}
		}
		switch i % 6 {
		case 1:
			q.Folders = []string{"f3"}
		case 2:
			q.Tags, q.AnyTag = []string{"t0", "t1"}, true
		case 3:
			q.Document = "d9"
		case 4:
			q.Offset = 5
		}
		if i%3 == 0 {
			for range 10 + i {
				q.More = append(q.More, searchindex.Term{Text: searchindex.QueryTerms(goldenSentence(rnd, 1))[0].Text, Weight: float64(rnd.below(1000)) / 1000})
			}
		}
		all = append(all, q)
	}
	return all
}
