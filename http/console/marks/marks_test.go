package marks_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"annals/http/console/marks"
)

// aligned returns the seen words that Align finds in a passage.
func aligned(passage, seen string) string {
	words := strings.Fields(seen)
	var out []string
	for i, at := range marks.Align(strings.Fields(passage), words) {
		if at >= 0 {
			out = append(out, words[i])
		}
	}
	return strings.Join(out, " ")
}

func TestAlign(t *testing.T) {
	for name, c := range map[string]struct{ passage, seen, want string }{
		"a part":             {"the mill was founded in 1693", "Preface. The mill was founded in 1693. The end", "The mill was founded in 1693."},
		"nothing":            {"the mill was founded in 1693", "the end of it was in the book", ""},
		"divided and joined": {"the information about every watermill nearby", "All the infor- mation about everywatermill nearby stands here", "the infor- mation about everywatermill nearby"},
		"ligatures":          {"efficient filing of offices", "The eﬃcient ﬁling of oﬃces is", "eﬃcient ﬁling of oﬃces"},
		"the place with more of it": {"costs of the sluice rise", "costs of the mill fall and later the costs of the sluice rise again",
			"costs of the sluice rise"},
		"cells in another order": {"machine sawing planks all day long price forty crowns for each hour", "machine sawing price forty planks all crowns for day long each hour",
			"machine sawing price forty planks all crowns for day long each hour"},
		"without spaces": {"水車小屋は一六九三年に建てられた", "前書き 水車小屋は 一六九三年に 建てられた 終わり", "水車小屋は 一六九三年に 建てられた"},
		"no words":       {"", "some words", ""},
		"nothing seen":   {"some words", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := aligned(c.passage, c.seen); got != c.want {
				t.Errorf("Align(%q, %q) finds %q, want %q", c.passage, c.seen, got, c.want)
			}
		})
	}
}

// page returns a page with words of ten points each, in lines of five.
func page(n int, text string) marks.Page {
	p := marks.Page{Number: n, Width: 100, Height: 100}
	for i, w := range strings.Fields(text) {
		p.Words = append(p.Words, marks.Word{Text: w, Box: marks.Box{X: float64(i % 5 * 12), Y: float64(i / 5 * 12), Width: 10, Height: 10}})
	}
	return p
}

func TestOnJoinsWordsToLines(t *testing.T) {
	pages := []marks.Page{page(1, "one two three four five sluice gates of the mill"), page(2, "were opened by Erik Ljung eleven twelve")}
	got := marks.On(pages, strings.Fields("sluice gates of the mill were opened by erik ljung"), 8, 10)
	want := [][]marks.Rectangle{
		{{Box: marks.Box{X: 0, Y: 12, Width: 58, Height: 10}}},
		{{Box: marks.Box{X: 0, Y: 0, Width: 34, Height: 10}}, {Box: marks.Box{X: 36, Y: 0, Width: 22, Height: 10}, Strong: true}},
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("On = %v, want %v", got, want)
	}
}

func FuzzOn(f *testing.F) {
	f.Add("the mill was founded in 1693", "the mill was foun- ded in 1693", 2, 4)
	f.Add("水車小屋は 一六九三年", "水車 小屋は一六九 三年", 0, 1)
	f.Fuzz(func(t *testing.T, passage, seen string, from, to int) {
		p := page(1, seen)
		words := strings.Fields(passage)
		for i, at := range marks.Align(words, strings.Fields(seen)) {
			if at < -1 || at >= len(words) {
				t.Errorf("word %d is aligned with %d", i, at)
			}
		}
		for _, r := range marks.On([]marks.Page{p}, words, from, to)[0] {
			if !(r.Width > 0 && r.Height > 0 && r.X >= 0 && r.X+r.Width <= 58 && !math.IsNaN(r.Y)) {
				t.Errorf("rectangle %v", r)
			}
		}
	})
}

// BenchmarkOn aligns words that occur everywhere, which takes longest.
func BenchmarkOn(b *testing.B) {
	passage := strings.Fields(strings.Repeat("a b ", 400))
	p := page(1, strings.Repeat("b a c ", 3000))
	for b.Loop() {
		marks.On([]marks.Page{p}, passage, 0, 0)
	}
}
