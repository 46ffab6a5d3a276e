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
