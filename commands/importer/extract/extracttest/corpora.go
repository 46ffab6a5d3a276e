package extracttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"annals/commands/importer/extract"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Corpora returns the folder of the files for development (corpora). It skips the test if the
// machine does not have this folder.
func Corpora(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if found := filepath.Join(dir, "shared", "corpora", "dev"); isDir(found) {
			return found
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no development corpora in shared/corpora/dev")
		}
		dir = filepath.Dir(dir)
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Markdown reads a file with r and returns its sections as one text.
func Markdown(t testing.TB, r extract.Reader, path, name string) (string, extract.Info, error) {
	var out strings.Builder
	last := -1
	info, err := r.Read(t.Context(), path, name, func(s extract.Section) error {
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

// Normal returns s without markup and punctuation and in lower case, for comparison.
func Normal(s string) string {
	s = cases.Fold().String(norm.NFKC.String(s))
	s = escaped.ReplaceAllString(s, "$1")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
}

// Squashed is like Normal, but removes spaces.
func Squashed(s string) string { return strings.ReplaceAll(Normal(s), " ", "") }

// JSONLines returns the values of a file of JSON values.
func JSONLines[T any](t testing.TB, path string) (all []T) {
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
