package language

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		"The keeper of the lighthouse counted the ships that came in, and wrote them into a book.": "",
		"": "", "42 17.5 3,000 IL-6": "", "Café Müller, São Paulo, Kraków": "", "東京都は日本の首都です": "",
		"She said \"das ist nicht die Frage\" and left the room, because the others were waiting for her at the station.":        "",
		"Der Leuchtturmwärter zählte die Schiffe, die am Abend in den Hafen kamen, und schrieb sie in ein Buch.":                 "de",
		"Le gardien du phare comptait les navires qui entraient dans le port et les notait dans un livre.":                       "fr",
		"El guardián del faro contaba los barcos que entraban en el puerto y los anotaba en un libro.":                           "es",
		"Il guardiano del faro contava le navi che entravano nel porto e le annotava in un libro.":                               "it",
		"O guarda do farol contava os navios que entravam no porto à noite e não os anotava em um livro.":                        "pt",
		"De vuurtorenwachter telde de schepen die in de haven kwamen en schreef ze in een boek.":                                 "nl",
		"Fyrvaktaren räknade skeppen som kom in i hamnen och skrev in dem i en bok som han hade.":                                "sv",
		"Majakanvartija laski laivat, jotka tulivat satamaan, ja hän kirjoitti ne kirjaan, koska se oli hänen työnsä.":           "fi",
		"A világítótorony őre megszámolta a hajókat, amelyek a kikötőbe jöttek, és egy könyvbe írta őket, mert ez volt a dolga.": "hu",
		"Fener bekçisi limana gelen gemileri saydı ve bir deftere yazdı, çünkü bu onun için çok önemli bir şey idi.":             "tr",
		"Москва": "ru", "Смотритель маяка считал корабли": "ru", "حارس المنارة": "ar", "نگهبان فانوس دریایی": "fa", "दिल्ली भारत की राजधानी है": "hi",
	} {
		got := ""
		if l := Detect("", text); l != nil {
			got = l.Code
		}
		if got != want {
			t.Errorf("Detect(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestStem(t *testing.T) {
	byCode := make(map[string]*Language)
	for _, l := range All {
		byCode[l.Code] = l
	}
	for code, words := range map[string]string{
		"de": "häuser haus häusern", "fr": "l'église églises", "es": "canción canciones", "it": "dell'informazione informazioni", "pt": "livro livros", "nl": "boeken boek",
		"sv": "skeppen skepp", "da": "skibene skibet", "no": "skipene skipet", "fi": "laivassa laivalla", "hu": "házak házakat", "ro": "casele casa", "tr": "kitaplar kitapları",
		"ru": "кораблями корабли", "ar": "الكتاب كتاب", "hi": "किताबें किताब",
	} {
		first := ""
		for word := range strings.FieldsSeq(words) {
			stem := byCode[code].Stem(word)
			if first == "" {
				first = stem
			}
			if stem != first || stem == "" {
				t.Errorf("in %s the stem of %q is %q, want %q", code, word, stem, first)
			}
		}
	}
}

func TestMarks(t *testing.T) {
	seen := make(map[string]bool)
	for _, l := range All {
		r, n := utf8.DecodeRuneInString(l.Mark)
		if seen[l.Mark] || n != len(l.Mark) || !unicode.IsLetter(r) || !unicode.Is(unicode.Latin, r) || unicode.ToLower(r) != r {
			t.Errorf("the mark of %s, %q, is not a lower-case Latin letter of its own", l.Code, l.Mark)
		}
		seen[l.Mark] = true
		if Of(l.Mark+"haus") != l || Of("haus") != nil || Of("") != nil {
			t.Errorf("Of does not tell terms of %s from others", l.Code)
		}
		if len(l.StopWords()) < 50 {
			t.Errorf("%s has %d stop words, want at least 50", l.Code, len(l.StopWords()))
		}
	}
}

func FuzzDetect(f *testing.F) {
	for _, seed := range []string{"", "der die das und", "Москва", "\xff\xfe", "l'", "'", "İ", strings.Repeat("die ", 500)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if first := Detect(text); Detect(text) != first {
			t.Fatal("Detect returns two languages for one text")
		}
		for _, l := range All {
			if utf8.ValidString(text) && !utf8.ValidString(l.Stem(text)) {
				t.Fatalf("in %s the stem of %q is not valid UTF-8", l.Code, text)
			}
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	text := strings.Repeat("The keeper of the lighthouse counted nineteen ships, and no more, before the fog came in at O'Hara's. ", 10)
	for b.Loop() {
		Detect(text)
	}
}
