package searchindextest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"annals/projections/searchindex"
)

// generate returns n passages of 30 to 170 words. The same seed returns the same
// passages.
func generate(seed uint64, n int) []searchindex.Passage {
	rnd := rand.New(rand.NewPCG(seed, 1))
	passages := make([]searchindex.Passage, n)
	for i := range passages {
		passages[i] = searchindex.Passage{
			ID:       fmt.Sprintf("%04d", i),
			Document: strconv.Itoa(i / 5),
			Folders:  []string{"top", "folder" + strconv.Itoa(i%7)},
			Tags:     []string{"tag" + strconv.Itoa(i%3)},
			Title:    sentence(rnd, 4),
			Section:  sentence(rnd, 3),
			Text:     sentence(rnd, 30+rnd.IntN(140)),
		}
	}
	return passages
}

// sentence returns a text of the words w0 to w19999, distributed by Zipf's law as in
// natural language.
func sentence(rnd *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		b.WriteString("w" + strconv.Itoa(int(math.Exp(rnd.Float64()*math.Log(20_000)))-1) + " ")
	}
	return b.String()
}
