package searchindextest

import (
	"slices"
	"strings"
	"testing"

	"annals/projections/searchindex"
)

// inLanguages are passages in several languages.
var inLanguages = []searchindex.Passage{
	{ID: "en", Folders: []string{"a"}, Title: "The harbour", Text: "The keeper of the lighthouse counted the ships that came into the harbour, and wrote their names into a book."},
	{ID: "de", Folders: []string{"b"}, Title: "Der Hafen", Text: "Der Wärter zählte die Häuser und die großen Schiffe, die in den Hafen kamen, und schrieb ihre Namen in das Buch."},
	{ID: "fr", Folders: []string{"b"}, Title: "Le port", Text: "Le gardien du phare comptait les chevaux et les églises qui étaient dans la ville, et les notait dans un livre."},
	{ID: "es", Folders: []string{"b"}, Title: "El puerto", Text: "El guardián del faro contaba las canciones que se cantaban en la plaza y los barcos que entraban en el puerto."},
	{ID: "it", Folders: []string{"b"}, Title: "Il porto", Text: "Il guardiano del faro leggeva le informazioni sulle montagne che erano nel libro, ma non le copiava mai."},
	{ID: "nl", Folders: []string{"b"}, Title: "De haven", Text: "De wachter telde de schepen die in de haven kwamen, en hij schreef hun namen in het boek over de molens."},
	{ID: "pt", Folders: []string{"b"}, Title: "O porto", Text: "O guarda do farol não contava os animais que estavam na praia, mas ele anotava os livros em uma lista."},
	{ID: "ru", Folders: []string{"b"}, Title: "Порт", Text: "Смотритель маяка считал корабли, которые входили в гавань, и записывал их названия в книгу."},
	{ID: "ar", Folders: []string{"b"}, Title: "الميناء", Text: "كان حارس المنارة يعد السفن التي تدخل الميناء ويكتب أسماءها في الكتاب"},
	{ID: "fa", Folders: []string{"b"}, Title: "بندر", Text: "نگهبان فانوس دریایی کشتی\u200cهایی را که به بندر می\u200cآمدند می\u200cشمرد و در کتاب می\u200cنوشت"},
	{ID: "ja", Folders: []string{"b"}, Title: "港", Text: "灯台守は港に入る船を数え、その名前を本に書きました。"},
	{ID: "zh", Folders: []string{"b"}, Title: "港口", Text: "灯塔看守人数了进入海港的货船，并把它们的名字写在书里。"},
}

// testLanguages checks that passages are found by other inflections of their words, each
// in its own language, and that operators and misspelt words know the language, too.
func testLanguages(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: inLanguages})
	for text, want := range map[string]string{
		"lighthouses and keepers": "en", "Haus": "de", "das große Schiff": "de", "cheval": "fr", "église": "fr", "l'église": "fr", "canción": "es",
		"informazione": "it", "wachters": "nl", "boeken": "nl", "livro animal": "pt", "корабль": "ru", "книга о маяках": "ru", "سفينة في ميناء": "ar", "كتاب الأسماء": "ar",
		"كشتى": "fa", "灯台": "ja", "船を数え": "ja", "海港": "zh", "货船的名字": "zh", "schifffe": "de", "canciobes": "es", "книгв": "ru",
	} {
		if got, _, _ := strings.Cut(ids(search(t, e, searchindex.Query{Text: text, All: true})), " "); got != want {
			t.Errorf("Search(%q) finds %q first, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{`"großes Schiff"`: "de", `Namen -Buch`: "", `Name -Bücher`: "", `"canciones" puerto -libro`: "es", `port -cheval`: "", `船 -灯台`: "zh", `船 -塔`: "ja"} {
		s := searchindex.ParseSyntax(text)
		q := searchindex.Query{Text: s.Text, All: true}
		q.Required, q.Excluded = s.Terms()
		got := strings.Fields(ids(search(t, e, q)))
		if want != "" && !slices.Equal(got, []string{want}) || slices.Contains(got, "de") && strings.Contains(text, "-B") || slices.Contains(got, "fr") && strings.Contains(text, "-cheval") {
			t.Errorf("Search(%s) finds %q", text, got)
		}
	}
}

// testLanguageScores checks that a passage in English scores the same in an index with
// passages in other languages that the caller may not read, or that are in other folders,
// and that a word is as rare in one language as in another.
func testLanguageScores(t *testing.T, open Open) {
	english, mixed := open(t, "english"), open(t, "mixed")
	passages := generate(11, 200)
	apply(t, english, searchindex.Batch{Put: passages})
	apply(t, mixed, searchindex.Batch{Put: append(passages, inLanguages[1:]...)})
	for _, text := range []string{"w1 w7 w60", "the names of w9", "w100", "unknown w3 die der und"} {
		want := search(t, english, searchindex.Query{Text: text, All: true})
		wantSame(t, search(t, mixed, searchindex.Query{Text: text, Granted: []string{"top"}}), want)
		wantSame(t, search(t, mixed, searchindex.Query{Text: text, All: true, Folders: []string{"top"}}), want)
	}
	even := open(t, "even")
	apply(t, even, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Text: "Das Museum ist am Montag und am Dienstag nicht für die Besucher offen."},
		{ID: "2", Text: "The museum was not open for the guests on that Monday and on Tuesday."},
	}})
	hits := search(t, even, searchindex.Query{Text: "museum", All: true})
	if len(hits) != 2 || hits[0].Score > 1.2*hits[1].Score {
		t.Errorf("a word that is the same in two languages finds %v, want two passages with about equal scores", hits)
	}
}
