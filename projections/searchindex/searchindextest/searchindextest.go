// Package searchindextest is the test suite that every search engine has to pass.
package searchindextest

import (
	"math"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/searchindex"
)

// Open opens the engine with a name, which is unique within a test, and creates it if it
// does not exist. An engine that is opened a second time has all earlier changes. The
// engine is closed when the test ends.
type Open func(t testing.TB, name string) searchindex.Engine

// Run checks that the engines which open returns implement searchindex.Engine.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"an empty index":                testEmpty,
		"put, replace, delete":          testChanges,
		"reopening":                     testReopen,
		"filters":                       testFilters,
		"similar words":                 testAlike,
		"nearest words":                 testNearest,
		"filters of rare values":        testRareFilters,
		"filters do not change scores":  testFilterScores,
		"folders rank by themselves":    testFolderScores,
		"repeated words weigh more":     testRepeated,
		"hidden passages do not matter": testHidden,
		"batching does not matter":      testBatching,
		"required and excluded terms":   testRequired,
		"ties are broken by id":         testTies,
		"scripts":                       testScripts,
		"languages":                     testLanguages,
		"languages rank alike":          testLanguageScores,
		"stop words":                    testStopWords,
		"more terms find nothing alone": testMore,
		"rare more terms do not count":  testRareMore,
		"long and malformed queries":    testMalformedQueries,
		"pages":                         testPages,
		"titles and sections are found": testHeadings,
		"searching while writing":       testConcurrent,
		"listing":                       testEach,
		"a canceled context":            testCanceled,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func apply(t testing.TB, e searchindex.Engine, b searchindex.Batch) {
	t.Helper()
	if err := e.Apply(t.Context(), b); err != nil {
		t.Fatalf("Apply(%d put, %d deleted): %v", len(b.Put), len(b.Delete), err)
	}
}

func search(t testing.TB, e searchindex.Engine, q searchindex.Query) []searchindex.Hit {
	t.Helper()
	hits, err := e.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search(%+.100v): %v", q, err)
	}
	return hits
}

func ids(hits []searchindex.Hit) string {
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

func wantCount(t testing.TB, e searchindex.Engine, want uint64) {
	t.Helper()
	if got, err := e.Count(t.Context()); err != nil || got != want {
		t.Errorf("Count() = %d, %v; want %d", got, err, want)
	}
}

func wantPosition(t testing.TB, e searchindex.Engine, want events.Position) {
	t.Helper()
	if got, err := e.Position(t.Context()); err != nil || got != want {
		t.Errorf("Position() = %d, %v; want %d", got, err, want)
	}
}

func wantSame(t testing.TB, got, want []searchindex.Hit) {
	t.Helper()
	if ids(got) != ids(want) {
		t.Errorf("the search finds %s\nwant %s", ids(got), ids(want))
		return
	}
	for i := range got {
		if math.Abs(got[i].Score-want[i].Score) > 1e-6 {
			t.Errorf("hit %d, %s, scores %v, want %v", i, got[i].ID, got[i].Score, want[i].Score)
		}
	}
}
