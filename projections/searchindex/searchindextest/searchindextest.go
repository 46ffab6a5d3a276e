// Package searchindextest is the test suite that every search engine has to pass.
package searchindextest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/events/fault"
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

func testEach(t *testing.T, open Open) {
	e := open(t, "a")
	each := func() (ids []string) {
		t.Helper()
		if err := e.Each(t.Context(), func(id string) error { ids = append(ids, id); return nil }); err != nil {
			t.Fatalf("Each: %v", err)
		}
		slices.Sort(ids)
		return ids
	}
	if got := each(); len(got) > 0 {
		t.Errorf("Each of an empty index lists %v, want none", got)
	}
	apply(t, e, searchindex.Batch{Put: generate(1, 300)})
	var want []string
	for _, p := range generate(1, 300) {
		want = append(want, p.ID)
	}
	slices.Sort(want)
	apply(t, e, searchindex.Batch{Delete: want[100:], Put: generate(1, 300)[:1]})
	want = want[:100]
	if first := generate(1, 300)[0].ID; !slices.Contains(want, first) {
		want = append(want, first)
		slices.Sort(want)
	}
	if got := each(); !slices.Equal(got, want) {
		t.Errorf("Each lists %v, want %v", got, want)
	}
	stop, calls := errors.New("enough"), 0
	err := e.Each(t.Context(), func(string) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("Each = %v after %d calls of a function that fails, want its error after one call", err, calls)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Each(ended, func(string) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Each with a canceled context = %v, want canceled", err)
	}
}

func testFilters(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Document: "x", Folders: []string{"root", "a"}, Tags: []string{"red"}, Text: "apple"},
		{ID: "2", Document: "x", Folders: []string{"root", "a"}, Tags: []string{"red", "big one"}, Text: "apple"},
		{ID: "3", Document: "y", Folders: []string{"root", "b", "c"}, Tags: []string{"big one"}, Text: "apple"},
		{ID: "4", Document: "z", Folders: []string{"other"}, Text: "apple"},
		{ID: "5", Document: "q", Text: "apple"},
	}})
	tests := []struct {
		q    searchindex.Query
		want string
	}{
		{searchindex.Query{}, ""},
		{searchindex.Query{All: true}, "1 2 3 4 5"},
		{searchindex.Query{Granted: []string{""}}, ""},
		{searchindex.Query{Granted: []string{"root"}}, "1 2 3"},
		{searchindex.Query{Granted: []string{"c", "other", "unknown"}}, "3 4"},
		{searchindex.Query{All: true, Folders: []string{"b"}}, "3"},
		{searchindex.Query{All: true, Folders: []string{"unknown"}}, ""},
		{searchindex.Query{All: true, Folders: []string{"a", "unknown", "other"}}, "1 2 4"},
		{searchindex.Query{Granted: []string{"a"}, Folders: []string{"root"}}, "1 2"},
		{searchindex.Query{Granted: []string{"a", "c"}, Folders: []string{"b", "a"}}, "1 2 3"},
		{searchindex.Query{Granted: []string{"a", "c"}, Folders: []string{"b", "other"}}, "3"},
		{searchindex.Query{Granted: []string{"a"}, Folders: []string{"other"}}, ""},
		{searchindex.Query{All: true, Document: "x"}, "1 2"},
		{searchindex.Query{Granted: []string{"other"}, Document: "x"}, ""},
		{searchindex.Query{All: true, Tags: []string{"red"}}, "1 2"},
		{searchindex.Query{All: true, Tags: []string{"red", "big one"}}, "2"},
		{searchindex.Query{All: true, Tags: []string{"red", "big one"}, AnyTag: true}, "1 2 3"},
		{searchindex.Query{All: true, Tags: []string{"big"}}, ""},
		{searchindex.Query{All: true, Tags: []string{"big one"}, Document: "x", Folders: []string{"a"}}, "2"},
	}
	for _, test := range tests {
		test.q.Text = "apple"
		if got := ids(search(t, e, test.q)); got != test.want {
			t.Errorf("Search(%+v) finds %q, want %q", test.q, got, test.want)
		}
	}
}

// testFilterScores checks that a document and tags do not change scores.
func testFilterScores(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: generate(2, 500)})
	for _, q := range []searchindex.Query{{All: true}, {All: true, Folders: []string{"folder3"}}, {Granted: []string{"folder3", "folder4"}}} {
		q.Text, q.Limit = "w1 w7 w60", 500
		score := make(map[string]float64)
		for _, h := range search(t, e, q) {
			score[h.ID] = h.Score
		}
		q.Tags = []string{"tag1"}
		tagged := search(t, e, q)
		q.Tags, q.Document = nil, "2"
		hits := append(tagged, search(t, e, q)...)
		if len(tagged) == 0 || len(tagged) == len(hits) || len(hits) >= len(score) {
			t.Fatalf("the filters pass %d and %d of %d passages, want some of them", len(tagged), len(hits)-len(tagged), len(score))
		}
		for _, h := range hits {
			if h.Score != score[h.ID] {
				t.Errorf("passage %s scores %v with a filter and %v without, want the same", h.ID, h.Score, score[h.ID])
			}
		}
	}
}

// testFolderScores checks that a search in folders is ranked as if the index had no other
// passages, if the caller may read everything, and if the caller may read only a part.
func testFolderScores(t *testing.T, open Open) {
	passages := generate(2, 500)
	in := func(folders ...string) (some []searchindex.Passage) {
		for _, p := range passages {
			if slices.Contains(folders, p.Folders[1]) {
				some = append(some, p)
			}
		}
		return some
	}
	whole, two, one := open(t, "whole"), open(t, "two"), open(t, "one")
	apply(t, whole, searchindex.Batch{Put: passages})
	apply(t, two, searchindex.Batch{Put: in("folder3", "folder4")})
	apply(t, one, searchindex.Batch{Put: in("folder3")})
	rnd := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		q := searchindex.Query{Text: sentence(rnd, 1+rnd.IntN(8)), Limit: 40}
		all := q
		all.All = true
		for want, queries := range map[searchindex.Engine][]searchindex.Query{
			two: {{All: true, Folders: []string{"folder3", "folder4"}}, {Granted: []string{"folder4", "folder3"}, Folders: []string{"top"}}},
			one: {
				{All: true, Folders: []string{"folder3"}},
				{Granted: []string{"top"}, Folders: []string{"folder3"}, Inside: true},
				{Granted: []string{"folder3", "folder4"}, Folders: []string{"folder2", "folder3"}},
			},
		} {
			for _, folder := range queries {
				folder.Text, folder.Limit = q.Text, q.Limit
				wantSame(t, search(t, whole, folder), search(t, want, all))
			}
		}
	}
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

func testRequired(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Title: "Lights", Text: "apple and pear"}, {ID: "2", Text: "apple, pear and plum"}, {ID: "3", Text: "apple"}, {ID: "4", Text: "pear"},
	}})
	for _, test := range []struct{ required, excluded, want string }{
		{"", "", "1 2 3 4"}, {"pear", "", "1 2 4"}, {"pear appl", "", "1 2"}, {"light", "", "1"}, {"unknown", "", ""},
		{"", "plum", "1 3 4"}, {"", "plum light", "3 4"}, {"appl", "pear", "3"}, {"", "unknown", "1 2 3 4"}, {"plum", "plum", ""},
	} {
		q := searchindex.Query{Text: "apples or pears", All: true, Excluded: strings.Fields(test.excluded)}
		for _, t := range strings.Fields(test.required) {
			q.Required = append(q.Required, []string{t})
		}
		got := strings.Fields(ids(search(t, e, q)))
		slices.Sort(got)
		if strings.Join(got, " ") != test.want {
			t.Errorf("Search with %q and without %q finds %q, want %q", test.required, test.excluded, got, test.want)
		}
	}
}

func testTies(t *testing.T, open Open) {
	e := open(t, "a")
	for i := range 60 {
		id := strconv.Itoa(100 + (i*37)%60)
		apply(t, e, searchindex.Batch{Put: []searchindex.Passage{{ID: id, Text: "twin lighthouses"}}})
	}
	if got, want := ids(search(t, e, searchindex.Query{Text: "lighthouse", All: true, Limit: 4})), "100 101 102 103"; got != want {
		t.Errorf("the search finds %s, want %s", got, want)
	}
}

func testScripts(t *testing.T, open Open) {
	e := open(t, "a")
	texts := []string{
		"The ships were sailing home.", "Die Straße über den Fluß", "Le café près de l'église", "Москва была столицей", "東京都は日本の首都です",
		"서울은 대한민국의 수도이다", "กรุงเทพมหานครเป็นเมืองหลวง", "القاهرة عاصمة مصر", "दिल्ली भारत की राजधानी है", "Ｆｕｌｌ ｗｉｄｔｈ", "مدينة 2,500 p53 IL-6",
	}
	for i, text := range texts {
		apply(t, e, searchindex.Batch{Put: []searchindex.Passage{{ID: strconv.Itoa(i), Text: text}}})
	}
	for text, want := range map[string]string{
		"sail ship": "0", "ships’": "0", "STRASSE uber": "1", "cafe Église": "2", "МОСКВА": "3", "日本": "4", "首都": "4", "京": "4", "수도": "5",
		"เมืองหลวง": "6", "القاهرة": "7", "राजधानी": "8", "full width": "9", "2,500": "10", "il-6": "10", "nothing": "",
	} {
		if got, _, _ := strings.Cut(ids(search(t, e, searchindex.Query{Text: text, All: true})), " "); got != want {
			t.Errorf("Search(%q) finds %q first, want %q", text, got, want)
		}
	}
}

func testStopWords(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Text: "a band called the who played"}, {ID: "2", Text: "the keeper of the light"}, {ID: "3", Text: "ships at sea"},
	}})
	if got, want := ids(search(t, e, searchindex.Query{Text: "The Who", All: true})), "1 2"; got != want {
		t.Errorf("Search(The Who) finds %q, want %q", got, want)
	}
	if got := ids(search(t, e, searchindex.Query{Text: "who is at the sea?", All: true})); !strings.HasPrefix(got, "3") {
		t.Errorf("a query with stop words finds %q, want 3 first", got)
	}
}

func testRepeated(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Text: "the harbour and its keeper"}, {ID: "2", Text: "the meadow and its keeper"},
	}})
	for text, want := range map[string]string{"meadow by a harbour, and a meadow": "2 1", "harbour, meadow, Harbours": "1 2"} {
		if got := ids(search(t, e, searchindex.Query{Text: text, All: true})); got != want {
			t.Errorf("Search(%q) finds %q, want %q", text, got, want)
		}
	}
}

func testMore(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Text: "ships and a meadow"}, {ID: "2", Text: "ships and a harbour"}, {ID: "3", Text: "a harbour"},
	}})
	q := searchindex.Query{Text: "ships", All: true, More: []searchindex.Term{{Text: "harbour", Weight: 1}, {Text: "unknown", Weight: 1}}}
	if got := ids(search(t, e, q)); got != "2 1" && got != "1 2" {
		t.Errorf("with further terms a search finds %q, want 1 and 2", got)
	}
	q.Text = ""
	if got := ids(search(t, e, q)); got != "" {
		t.Errorf("further terms alone find %q, want nothing", got)
	}
}

func testMalformedQueries(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: append(generate(6, 200), searchindex.Passage{ID: "rare", Text: "zanzibar " + strings.Repeat("x", 70_000)})})
	for _, text := range []string{"", " ", "?!", "\x00", "\xff\xfe", "\"", "a AND (", "text:w1^3", strings.Repeat("(", 9000)} {
		search(t, e, searchindex.Query{Text: text, All: true})
	}
	long := strings.Repeat("w1 w2 w3 w4 w5 w6 w7 w8 ", 50) + "zanzibar"
	for i := range 60 {
		long += fmt.Sprintf(" w%d", i)
	}
	if got := ids(search(t, e, searchindex.Query{Text: long, All: true, Limit: 200})); !strings.Contains(got, "rare") {
		t.Error("a long query does not find the passage with its rarest word")
	}
	for _, q := range []searchindex.Query{{Limit: -1}, {Offset: -1}, {Limit: searchindex.MaxLimit + 1}, {Offset: searchindex.MaxOffset + 1}} {
		q.Text, q.All = "w1", true
		if _, err := e.Search(t.Context(), q); !fault.Is(err, fault.Invalid) {
			t.Errorf("Search(%+v) = %v, want an error of kind invalid", q, err)
		}
	}
}

func testPages(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: generate(7, 400)})
	q := searchindex.Query{Text: "w1 w2 w9", All: true, Limit: 60}
	all := search(t, e, q)
	if len(all) != 60 {
		t.Fatalf("Search finds %d passages, want 60", len(all))
	}
	var pages []searchindex.Hit
	for q.Limit = 25; q.Offset < 60; q.Offset += 25 {
		pages = append(pages, search(t, e, q)...)
	}
	wantSame(t, pages[:60], all)
	q.Offset = 5000
	if got := search(t, e, q); len(got) != 0 {
		t.Errorf("an offset beyond the end finds %d passages, want none", len(got))
	}
	if got := search(t, e, searchindex.Query{Text: "w1", All: true}); len(got) != 10 {
		t.Errorf("without a limit Search finds %d passages, want 10", len(got))
	}
}

func testHeadings(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Title: "Handbook of harbours", Section: "Lights > Fog signals", Text: "Sound it twice."},
		{ID: "2", Title: "Handbook of mills", Section: "Wheels", Text: "Turn it twice."},
	}})
	for text, want := range map[string]string{"harbour": "1", "fog signal": "1", "wheel": "2", "mills twice": "2 1"} {
		if got := ids(search(t, e, searchindex.Query{Text: text, All: true})); got != want {
			t.Errorf("Search(%q) finds %q, want %q", text, got, want)
		}
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

func testCanceled(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: generate(8, 10), Position: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Apply(ctx, searchindex.Batch{Position: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply = %v, want canceled", err)
	}
	if _, err := e.Search(ctx, searchindex.Query{Text: "w1", All: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("Search = %v, want canceled", err)
	}
	wantPosition(t, e, 1)
}

// testAlike checks searches for a word that no readable passage contains. They must find
// passages with words of similar spelling, even if passages that the caller may not read
// contain the word.
func testAlike(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Folders: []string{"mine"}, Text: "the lighthouse and its keeper"},
		{ID: "2", Folders: []string{"mine"}, Text: "ships and 12345 boats in the harbour"},
		{ID: "3", Folders: []string{"theirs"}, Text: "a harbuor, and a keepers' lihgthouse"},
	}})
	for text, want := range map[string]string{
		"lihgthouse": "1", "lighthuose": "1", "lightouse": "1", "keepre": "1", "harbuor": "2", "harbur": "2", "harbour": "2",
		"xighthouse": "", "keeqqer": "", "12346": "", "bots": "", "lighthouse harbuor": "1 2",
	} {
		got := strings.Fields(ids(search(t, e, searchindex.Query{Text: text, Granted: []string{"mine"}})))
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("Search(%q) finds %q, want %q", text, got, want)
		}
	}
	if got := ids(search(t, e, searchindex.Query{Text: "harbuor", All: true})); got != "3" {
		t.Errorf("a word that one passage has finds %q, want only that passage", got)
	}
}
