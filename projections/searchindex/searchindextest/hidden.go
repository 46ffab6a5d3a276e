package searchindextest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/projections/searchindex"
)

// testHidden compares indexes that have the same readable passages, and different numbers
// of passages that the caller may not read. Ids, order and scores of the hits must be
// identical for every query.
func testHidden(t *testing.T, open Open) {
	for seed := range uint64(2) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		shown := generate(20+seed, 70+180*int(seed)) // for the second seed, there are more passages than an engine scores
		engines := make([]searchindex.Engine, 3)
		for i := range engines {
			engines[i] = open(t, fmt.Sprint(seed, "-", i))
			fillHidden(t, engines[i], rnd, shown, i*len(shown)*2/3)
		}
		found := 0
		for range 40 {
			q := hiddenQuery(rnd)
			want := search(t, engines[0], q)
			found += len(want)
			for i, e := range engines[1:] {
				if got := search(t, e, q); !slices.Equal(got, want) {
					t.Fatalf("%+v finds, with %d hidden passages,\n%v\nand with none\n%v", q, (i+1)*len(shown)*2/3, got, want)
				}
			}
		}
		if found < 200 {
			t.Errorf("all searches found %d passages, want 200 at least for a useful comparison", found)
		}
	}
}

// fillHidden adds the readable passages, and hidden passages with the same words, which
// the caller may not read. It adds them in random order and small batches. Then it
// replaces and deletes some hidden passages.
func fillHidden(t *testing.T, e searchindex.Engine, rnd *rand.Rand, shown []searchindex.Passage, hidden int) {
	all := slices.Clone(shown)
	var change searchindex.Batch
	for i := range hidden {
		p := shown[rnd.IntN(len(shown))]
		p.ID, p.Document = fmt.Sprintf("%04d-hidden", i), fmt.Sprint("hidden", i)
		p.Folders = [][]string{{"top", "secret"}, {"top", "secret", "inner"}, {"other"}, nil}[rnd.IntN(4)]
		p.Text = strings.Repeat(p.Text+sentence(rnd, 5), 1+rnd.IntN(3))
		all = append(all, p)
		switch rnd.IntN(6) {
		case 0:
			change.Delete = append(change.Delete, p.ID)
		case 1:
			p.Text = sentence(rnd, 80)
			change.Put = append(change.Put, p)
		}
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for chunk := range slices.Chunk(all, 100) {
		apply(t, e, searchindex.Batch{Put: chunk})
	}
	apply(t, e, change)
}

// misspelt returns a text whose longest word lacks one letter, or has only its beginning.
func misspelt(text string, letter int) string {
	word := slices.MaxFunc(strings.Fields(text), func(a, b string) int { return len(a) - len(b) })
	if len(word) <= letter+1 {
		return text
	}
	if letter%2 == 0 {
		return word[:letter]
	}
	return strings.Replace(text, word, word[:letter]+word[letter+1:], 1)
}

// hiddenQuery returns a random query with the folders that generate uses.
func hiddenQuery(rnd *rand.Rand) searchindex.Query {
	folder := func() string { return fmt.Sprint("folder", rnd.IntN(7)) }
	q := searchindex.Query{Text: sentence(rnd, 1+rnd.IntN(9)), Limit: 1 + rnd.IntN(60), Offset: rnd.IntN(3) * rnd.IntN(20)}
	if rnd.IntN(3) == 0 {
		q.Text = misspelt(q.Text, 2+rnd.IntN(4))
	}
	switch rnd.IntN(5) {
	case 0:
		q.Granted = []string{folder()}
	case 3: // so many folders that counting words in them is expensive
		for i := range 400 {
			q.Granted = append(q.Granted, fmt.Sprint("folder", i))
		}
	case 1:
		for i := range 7 {
			q.Granted = append(q.Granted, fmt.Sprint("folder", i))
		}
	case 2: // Folders below the granted one
		q.Folders, q.Inside = []string{folder(), folder()}, true
		q.Granted = append([]string{folder()}, q.Folders...)
		for i := range rnd.IntN(2) * 300 {
			q.Granted = append(q.Granted, fmt.Sprint("empty", i))
		}
	default:
		q.Granted, q.Folders = []string{folder(), folder(), folder(), folder()}, []string{"top"}
	}
	if rnd.IntN(3) == 0 {
		q.Tags = []string{"tag1"}
	}
	if rnd.IntN(3) == 0 {
		q.Beginnings = []searchindex.Beginning{{Text: fmt.Sprint("w", rnd.IntN(30))}}
	}
	if rnd.IntN(2) == 0 {
		for _, word := range strings.Fields(sentence(rnd, 12)) {
			q.More = append(q.More, searchindex.Term{Text: word, Weight: rnd.Float64()})
		}
	}
	return q
}
