package worddiff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func compare(t testing.TB, before, after string) Result {
	t.Helper()
	r, err := Compare(t.Context(), strings.NewReader(before), strings.NewReader(after))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shown writes a result as [-removed-]{+added+}.
func (r Result) shown() string {
	var b strings.Builder
	for i, c := range r.Changes {
		if i > 0 {
			b.WriteString(" | ")
		}
		for _, p := range c.Parts {
			text := strings.Join(strings.Fields(p.Text), " ")
			if p.More > 0 {
				text += fmt.Sprintf(" (%d more)", p.More)
			}
			b.WriteString([]string{"", "[-", "{+"}[p.Kind] + text + []string{"", "-]", "+}"}[p.Kind])
		}
	}
	return b.String()
}

func words(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"equal":             {"The same text.", "The same text.", ""},
		"both empty":        {"", "", ""},
		"white space":       {"The same\n\ntext.", "The same text.\n", ""},
		"front matter":      {"---\ntype: document\ntitle: \"A\"\n---\n\nText", "---\ntitle: \"B\"\nocr_pages: 2\n---\n\nText", ""},
		"word":              {"within ninety days", "within forty days", "within[-ninety-]{+forty+}days"},
		"added":             {"one three", "one two three", "one{+two+}three"},
		"removed":           {"one two three", "one three", "one[-two-]three"},
		"all":               {"", "one two", "{+one two+}"},
		"punctuation":       {"5.000 EUR", "6.000 EUR", "[-5-]{+6+}.000 EUR"},
		"script":            {"a <script>b</script>", "a <script>c</script>", "a <script>[-b-]{+c+}</script>"},
		"without spaces":    {"東京に住む", "大阪に住む", "[-東京-]{+大阪+}に住む"},
		"accents":           {"die Übergröße gilt", "die Untergröße gilt", "die[-Übergröße-]{+Untergröße+}gilt"},
		"rewritten":         {"The mill was owned by the old firm then", "The paper is made by a new machine now", "The[-mill was owned by the old firm then-]{+paper is made by a new machine now+}"},
		"recognised":        {"<!-- page 1 -->\n<!-- recognised in a picture of page 1, confidence 0.900 -->\nText", "<!-- page 1 -->\nText", ""},
		"escaped comment":   {"&lt;!-- page 3 -->", "&lt;!-- page 4 -->", "&lt;!--page[-3-]{+4+}-->"},
		"another comment":   {"<!-- x -->", "<!-- y -->", "<!--[-x-]{+y+}-->"},
		"two places":        {"a " + words(0, 40) + "b", "A " + words(0, 40) + "B", "[-a-]{+A+}" + strings.TrimSpace(words(0, 12)) + " | " + strings.TrimSpace(words(28, 40)) + "[-b-]{+B+}"},
		"places close by":   {"a " + words(0, 20) + "b", "A " + words(0, 20) + "B", "[-a-]{+A+}" + strings.TrimSpace(words(0, 20)) + "[-b-]{+B+}"},
		"much that is gone": {words(0, 500), "", "[-" + strings.TrimSpace(words(0, maxPart)) + " (100 more)-]"},
	} {
		t.Run(name, func(t *testing.T) {
			// White space that the test does not show is between parts only.
			strip := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if got := compare(t, test.before, test.after); strip(got.shown()) != strip(test.want) || got.Partial {
				t.Errorf("Compare = %s (partial: %v), want %s", got.shown(), got.Partial, test.want)
			}
		})
	}
}

func TestCompareNamesPages(t *testing.T) {
	r := compare(t, "<!-- page 2 -->\none <!-- page 3 -->two three", "<!-- page 1 -->\none two\n<!-- page 2 -->\nthree four")
	if len(r.Changes) != 1 || r.Changes[0].NewPage != 2 || r.Changes[0].OldPage != 0 || r.Added != 1 || r.Removed != 0 {
		t.Errorf("Compare = %+v, want the new word on page 2", r)
	}
}

// A change at the end of a long text is found, and so is what was inserted into one.
func TestCompareLongTexts(t *testing.T) {
	long := words(0, 5*window)
	for name, test := range map[string]struct{ before, after, want string }{
		"end":            {long + "old", long + "new", "[-old-]{+new+}"},
		"both":           {"old " + long + "old", "new " + long + "new", "[-old-]{+new+}"},
		"inserted":       {long, words(0, window) + words(-3000, 0) + words(window, 5*window), "{+w-3000"},
		"removed":        {words(0, 100) + words(-3000, 0) + words(100, 5*window), long, "[-w-3000"},
		"over a window":  {long, words(0, window-5) + "x " + words(window-5, 2*window+7) + "y " + words(2*window+7, 5*window), "{+y+}"},
		"long insertion": {words(0, 10), words(0, 5) + long + words(5, 10), " more)+}"},
	} {
		r := compare(t, test.before, test.after)
		if got := strings.ReplaceAll(r.shown(), " ", ""); !strings.Contains(got, strings.ReplaceAll(test.want, " ", "")) || r.Partial || len(r.Changes) > 2 {
			t.Errorf("%s: %d changes, partial: %v, %d removed, %d added: %.300s", name, len(r.Changes), r.Partial, r.Removed, r.Added, r.shown())
		}
	}
}

func TestCompareIsBounded(t *testing.T) {
	var a, b strings.Builder
	for i := range 20 * window {
		fmt.Fprintf(&a, "%d ", i)
		if i%50 != 0 {
			fmt.Fprintf(&b, "%d ", i)
		}
	}
	if r := compare(t, a.String(), b.String()); !r.Partial || len(r.Changes) > maxChanges+window/50 {
		t.Errorf("%d changes, partial: %v", len(r.Changes), r.Partial)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Compare(ctx, iotest.ErrReader(context.Canceled), strings.NewReader("a")); err != nil || !r.Partial {
		t.Errorf("Compare after its time = %+v, %v", r, err)
	}
	broken := errors.New("broken")
	if _, err := Compare(t.Context(), io.MultiReader(strings.NewReader("a b"), iotest.ErrReader(broken)), strings.NewReader("a c")); !errors.Is(err, broken) {
		t.Errorf("Compare of a broken text: %v", err)
	}
}

// All words of short texts are shown, so both can be put together from the parts.
func FuzzCompare(f *testing.F) {
	f.Add("The mill was founded in 1693.", "The mill was closed in 1893.")
	f.Add("---\ntitle: x\n---\n<!-- page 3 -->\na", "\xff<!-- page 99999999999 --><")
	f.Add("東京 a\u0301b", "京都\n\n\x00")
	f.Fuzz(func(t *testing.T, before, after string) {
		r := compare(t, before, after)
		texts := map[Kind]string{}
		for _, c := range r.Changes {
			for _, p := range c.Parts {
				texts[p.Kind] += p.Text
				if p.Kind == Same {
					texts[Removed] += p.Text
					texts[Added] += p.Text
				}
				if p.More > 0 {
					return
				}
			}
		}
		if len(r.Changes) != 1 {
			return
		}
		for kind, whole := range map[Kind]string{Removed: before, Added: after} {
			s, n := newScanner(strings.NewReader(whole)), 0
			want := ""
			for t, ok := s.next(); ok; t, ok = s.next() {
				want += t.text
				n++
			}
			if got := strings.Join(strings.Fields(texts[kind]), ""); n <= around && got != want {
				t.Errorf("the parts of kind %d are %q, want %q", kind, got, want)
			}
		}
	})
}

func BenchmarkCompareLong(b *testing.B) {
	long := words(0, 2_000_000) // 17 MB
	b.SetBytes(int64(2 * len(long)))
	for b.Loop() {
		compare(b, "old "+long+"old", "new "+long+"new")
	}
}
