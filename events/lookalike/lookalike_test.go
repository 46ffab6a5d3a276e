package lookalike

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestHidden(t *testing.T) {
	for name, want := range map[string]string{
		"Fin\u200bance":            "U+200B ZERO WIDTH SPACE at position 4",
		"Finance\u200d":            "U+200D ZERO WIDTH JOINER at position 8",
		"Fin\u200cance":            "U+200C ZERO WIDTH NON-JOINER at position 4",
		"\u202egnp.exe":            "U+202E RIGHT-TO-LEFT OVERRIDE at position 1",
		"a\u2066b\u2069":           "U+2066 LEFT-TO-RIGHT ISOLATE at position 2",
		"\u05d0\u200f":             "U+200F RIGHT-TO-LEFT MARK at position 2",
		"Finance\ufeff":            "U+FEFF ZERO WIDTH NO-BREAK SPACE at position 8",
		"Fin\u00adance":            "U+00AD SOFT HYPHEN at position 4",
		"\u3164":                   "U+3164 HANGUL FILLER at position 1",
		"a\u2800b":                 "U+2800 BRAILLE PATTERN BLANK at position 2",
		"Finance\ufe0f":            "U+FE0F VARIATION SELECTOR-16 at position 8",
		"Fin\U000e0061ance":        "U+E0061 at position 4",
		"Fin\U000e0100ance":        "U+E0100 at position 4",
		"a\u034fb":                 "U+034F COMBINING GRAPHEME JOINER at position 2",
		"a\u2028b":                 "U+2028 LINE SEPARATOR at position 2",
		"\u0915\u200d":             "U+200D ZERO WIDTH JOINER at position 2",
		"\u0645\u06cc\u200c":       "U+200C ZERO WIDTH NON-JOINER at position 3",
		"Finance":                  "",
		"Übersicht – Größe.pdf":    "",
		"Отчёт":                    "",
		"契約書（最終）":                  "",
		"می\u200cخواهم":            "", // allowed, because Persian requires it
		"क्\u200dष":                "",
		"ශ්\u200dරී":               "",
		"👩\u200d👩\u200d👧 Familie":  "",
		"🏳\ufe0f\u200d🌈":           "",
		"❤\ufe0f\u200d🔥 ✔\ufe0f":   "",
		"1\ufe0f\u20e3 Erstes":     "",
		"\u8fbb\U000e0100":         "", // allowed, because it selects the form of a character in a Japanese name
		"\u182d\u180b":             "",
		"a\u00a0b\u3000c":          "", // allowed, because these spaces are visible
		"\u0600\u0661":             "", // allowed, because it is visible
		strings.Repeat("a", 10000): "",
	} {
		got, found := Hidden(name)
		if found != (want != "") || found && got.String() != want {
			t.Errorf("Hidden(%q): got %v, %t, want %q", name, got, found, want)
		}
	}
}

// rivals reports whether the Rivals of a include b.
func rivals(a, b string) bool {
	return slices.ContainsFunc(Rivals(a), func(r Rival) bool { return r.Key == Key(b) && (r.Spaced == "" || r.Spaced == Spaced(b)) })
}

func TestAlike(t *testing.T) {
	for _, pair := range [][2]string{
		{"Finance", "Fin\u200bance"}, {"Finance", "Fin\u0430nce"}, {"Finance", "Finаncе"}, {"paypal", "раураl"},
		{"Accounts", "Ассоunts"}, {"report1", "reроrtl"}, {"Inbox", "Ιnbox"}, {"office", "οffice"}, {"Budget - 1", "Budget – 1"},
		{"scope", "ѕсоре"}, {"A B", "A\u00a0B"}, {"Finance", "Ｆinance"}, {"Finance", "𝐅inance"}, {"кот", "ĸoт"}, {"rn", "m\u200b"},
		{"❤", "❤\ufe0f"}, {"John's", "John’s"}, {"A B", "A  B"}, {"A   B c", "A B  c"}, {"A B", "A\u3000B"}, {"A B", "A\u00a0\u2003B"}, {"Ä B", "Ä  B"},
	} {
		if !rivals(pair[0], pair[1]) || !rivals(pair[1], pair[0]) {
			t.Errorf("Rivals of %q and %q do not include each other", pair[0], pair[1])
		}
		if !Alike(pair[0], pair[1]) || !Alike(pair[1], pair[0]) {
			t.Errorf("Alike(%q, %q): got false, skeletons are %q and %q", pair[0], pair[1], Skeleton(pair[0]), Skeleton(pair[1]))
		}
	}
	for _, pair := range [][2]string{
		{"Finance", "Finance"}, {"report1", "reportl"}, {"report0", "reportO"}, {"rn", "m"}, {"résumé", "resume"}, {"Отчёт", "Отчет"},
		{"Straße", "Strasse"}, {"Finance", "Finanse"}, {"año", "ano"}, {"東京", "京都"}, {"Müller", "Mueller"}, {"", "a"}, {"report  1", "report l"}, {"A B", "AB"},
	} {
		if pair[0] != pair[1] && rivals(pair[0], pair[1]) {
			t.Errorf("Rivals of %q include %q", pair[0], pair[1])
		}
		if Alike(pair[0], pair[1]) {
			t.Errorf("Alike(%q, %q): got true, skeleton is %q", pair[0], pair[1], Skeleton(pair[0]))
		}
	}
}

func TestTableIsComplete(t *testing.T) {
	if n := len(prototypes()); n != 6712 {
		t.Errorf("prototypes: got %d characters, want 6712", n)
	}
	for r, prototype := range prototypes() {
		if ignorable(r) {
			continue
		}
		if r == utf8.RuneError || prototype == "" || Skeleton(prototype) != norm.NFD.String(prototype) {
			t.Errorf("prototype of %U: got %q, whose own skeleton is %q", r, prototype, Skeleton(prototype))
		}
	}
}

// FuzzClean checks that Clean removes all hidden characters and is idempotent.
func FuzzClean(f *testing.F) {
	for _, text := range []string{"Fin\u200bance", "👩\u200d\u200d👩", "می\u200c\u202eخواهم", "a\x00\nb", "❤\ufe0f\ufe0f\u200d🔥"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := Clean(text)
		if c, found := Hidden(clean); found {
			t.Errorf("Clean(%q): got %q, which contains %s", text, clean, c)
		}
		if again := Clean(clean); again != clean {
			t.Errorf("Clean(%q): got %q, and after a second call %q", text, clean, again)
		}
	})
}

func BenchmarkSkeleton(b *testing.B) {
	for b.Loop() {
		Skeleton("Annual report 2026, second quarter.pdf")
	}
}
