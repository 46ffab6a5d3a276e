package extract

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// corpora returns the folder of the development corpora, which lies beside
// the repository on machines that have it.
func corpora(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if found := filepath.Join(dir, "shared", "corpora", "dev"); isDir(found) {
			return found
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no folder shared/corpora/dev beside the repository")
		}
		dir = filepath.Dir(dir)
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// markdownOf reads a file and puts its sections together as one text.
func markdownOf(t testing.TB, r Reader, path, name string) (string, Info, error) {
	var out strings.Builder
	last := -1
	info, err := r.Read(t.Context(), path, name, func(s Section) error {
		if s.Index != last && s.Title != "" {
			fmt.Fprintf(&out, "\n\n%s %s\n\n", strings.Repeat("#", min(s.Level, 6)), s.Title)
		} else if s.Part == 0 {
			out.WriteString("\n\n")
		}
		last = s.Index
		out.WriteString(s.Text)
		return nil
	}, nil)
	return out.String(), info, err
}

var escaped = regexp.MustCompile(`\\([^\pL\pN_\s])`)

// normal and squashed make texts comparable whatever their markup.
func normal(s string) string {
	s = cases.Fold().String(norm.NFKC.String(s))
	s = escaped.ReplaceAllString(s, "$1")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
}

func squashed(s string) string { return strings.ReplaceAll(normal(s), " ", "") }

func jsonLines[T any](t testing.TB, path string) (all []T) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

func TestWordDocumentsHoldTheirWords(t *testing.T) {
	dir := corpora(t)
	r := New(Options{})
	defer r.Close()
	var sum float64
	items := jsonLines[struct {
		File  string
		Words []string
	}](t, dir+"/docx/ordinary.jsonl")
	poor := 0
	for _, item := range items {
		text, _, err := markdownOf(t, r, dir+"/docx/ordinary/"+item.File, item.File)
		if err != nil {
			t.Errorf("%s: %v", item.File, err)
			continue
		}
		got := map[string]bool{}
		for _, w := range strings.Fields(normal(text)) {
			got[w] = true
		}
		found := 0
		var missing []string
		for _, w := range item.Words {
			if got[normal(w)] {
				found++
			} else {
				missing = append(missing, w)
			}
		}
		share := float64(found) / float64(max(len(item.Words), 1))
		if share < .98 {
			poor++
			t.Logf("%s: %.3f, without %.300q", item.File, share, missing)
		}
		sum += share
	}
	recall := sum / float64(len(items))
	t.Logf("word recall %.4f of %d files, %d under .98", recall, len(items), poor)
	if recall < .97 {
		t.Errorf("word recall %.4f, want .97", recall)
	}
}

func TestEmptyAndHostileWordDocumentsEnd(t *testing.T) {
	dir := corpora(t)
	r := New(Options{})
	defer r.Close()
	for _, sub := range []string{"ordinary-empty", "hostile"} {
		files, _ := filepath.Glob(dir + "/docx/" + sub + "/*.docx")
		for _, path := range files {
			text, info, err := markdownOf(t, r, path, filepath.Base(path))
			if sub == "ordinary-empty" && err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
			t.Logf("%s: %d bytes, %+v, %v", filepath.Base(path), len(text), info, err)
		}
	}
}

type peerCase struct {
	File, Format     string
	Hard             bool
	Must_contain     []string
	Must_not_contain []string
	Headings         []string
}

func TestWhatOtherReadersExpectIsFound(t *testing.T) {
	dir := corpora(t)
	r := New(Options{})
	defer r.Close()
	all := jsonLines[[]peerCase](t, dir+"/cases/cases.json")
	count := map[string][2]int{}
	add := func(key string, ok bool) {
		c := count[key]
		c[1]++
		if ok {
			c[0]++
		}
		count[key] = c
	}
	for _, c := range all[0] {
		if c.Format == "pdf" {
			continue
		}
		text, _, err := markdownOf(t, r, dir+"/cases/files/"+c.File, filepath.Base(c.File))
		if err != nil {
			t.Errorf("%s: %v", c.File, err)
		}
		key := c.Format + map[bool]string{true: " hard", false: " core"}[c.Hard]
		whole := squashed(text)
		for _, want := range c.Must_contain {
			ok := strings.Contains(whole, squashed(want))
			if add(key, ok); !ok {
				t.Logf("%s (hard: %t) without %q", c.File, c.Hard, want)
			}
		}
		for _, not := range c.Must_not_contain {
			add("must not", !strings.Contains(whole, squashed(not)))
		}
		for _, h := range c.Headings {
			found := false
			for line := range strings.Lines(text) {
				found = found || strings.HasPrefix(line, "#") && strings.Contains(squashed(line), squashed(h))
			}
			if add("headings", found); !found {
				t.Logf("%s without heading %q", c.File, h)
			}
		}
	}
	t.Log(count)
	for key, least := range map[string]float64{"docx core": .98, "md core": .99, "headings": .98} {
		if c := count[key]; c[1] > 0 && float64(c[0])/float64(c[1]) < least {
			t.Errorf("%s: %d of %d, want %.2f", key, c[0], c[1], least)
		}
	}
}
