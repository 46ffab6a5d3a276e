package searchindextest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"annals/events/fault"
	"annals/projections/searchindex"
)

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

// testNearest checks that of the words that a misspelt one may stand for, the nearest goes before rarer ones and before those
// that a passage repeats.
func testNearest(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Text: "the lighthorse, a lighthorse and a third lighthorse"},
		{ID: "2", Text: "a long text on coasts and ships and storms and a lighthouse of stone"},
		{ID: "3", Text: "a keeper of another lighthouse"},
		{ID: "4", Text: "a lighthouse for boats"},
		{ID: "5", Text: "meadows and mills"},
	}})
	for _, text := range []string{"lihgthouse", "lighthouze"} {
		got := strings.Fields(ids(search(t, e, searchindex.Query{Text: text, All: true})))
		if len(got) != 4 || got[3] != "1" {
			t.Errorf("Search(%q) finds %q, want 2, 3 and 4 before 1", text, got)
		}
	}
	if got := ids(search(t, e, searchindex.Query{Text: "lighthirse", All: true})); !strings.HasPrefix(got, "1 ") {
		t.Errorf("the word that differs in one letter has the passages %q, want 1 first", got)
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

// testRareMore checks that further terms count only if some passages in the scope share
// them, and that hidden passages do not make them frequent.
func testRareMore(t *testing.T, open Open) {
	e := open(t, "a")
	passages := generate(13, 300)
	for i := range passages {
		passages[i].Folders = []string{"a"}
		passages[i].Text += " ship"
		if i < 4 {
			passages[i].Text += " shared"
		}
	}
	passages[0].Text += " lonely"
	for i, p := range generate(14, 4) {
		p.ID, p.Folders, p.Text = "hidden"+strconv.Itoa(i), []string{"b"}, p.Text+" lonely"
		passages = append(passages, p)
	}
	apply(t, e, searchindex.Batch{Put: passages})
	q := searchindex.Query{Text: "ships", Granted: []string{"a"}}
	plain := search(t, e, q)
	q.More = []searchindex.Term{{Text: "lone", Weight: 1}}
	wantSame(t, search(t, e, q), plain)
	q.More = append(q.More, searchindex.Term{Text: "share", Weight: 1})
	first := strings.Fields(ids(search(t, e, q)))[:4]
	if slices.Sort(first); strings.Join(first, " ") != "0000 0001 0002 0003" {
		t.Errorf("the first passages are %q, want the four that share a further term", first)
	}
}
