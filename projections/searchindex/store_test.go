package searchindex_test

import (
	"strings"
	"testing"

	"annals/projections/searchindex"
)

func TestKindsOpenByScheme(t *testing.T) {
	opened := ""
	open := func(name string) func(url, dir string) (searchindex.Store, error) {
		return func(url, dir string) (searchindex.Store, error) {
			opened = name + " " + url + " " + dir
			return nil, nil
		}
	}
	kinds := searchindex.Kinds{{Scheme: "a", Form: "a:///folder", Open: open("a")}, {Scheme: "b", Form: "b://KEY@HOST", Open: open("b")}}
	for text, want := range map[string]string{"": "a  dir", "a:///x": "a a:///x dir", "b://%zz@host": "b b://%zz@host dir"} {
		if _, err := kinds.Open(text, "dir"); err != nil || opened != want {
			t.Errorf("Open(%q) called %q, %v, want %q", text, opened, err, want)
		}
	}
	for _, text := range []string{"SECRET", "/SECRET", "c://SECRET@host", "://SECRET", "ab://SECRET%zz"} {
		_, err := kinds.Open(text, "dir")
		if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.HasSuffix(err.Error(), ": write it as a:///folder or b://KEY@HOST") {
			t.Errorf("Open(%q) = %v, want an error with the forms and without the secret", text, err)
		}
	}
}
