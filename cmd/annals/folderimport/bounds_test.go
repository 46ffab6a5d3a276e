package folderimport

import (
	"slices"
	"testing"
)

func TestCutBoundsBatches(t *testing.T) {
	files := []localFile{{"a", 5, 0}, {"b", 5, 0}, {"c", 1, 0}, {"d", 99, 0}, {"e", 1, 0}, {"f", 1, 0}, {"g", 1, 0}, {"h", 1, 0}}
	var got []string
	for _, batch := range cut(files, 3, 10) {
		var names string
		for _, f := range batch {
			names += f.Path
		}
		got = append(got, names)
	}
	if want := []string{"ab", "c", "d", "efg", "h"}; !slices.Equal(got, want) {
		t.Errorf("cut = %v, want %v", got, want)
	}
}

// A path that could not be read may be a file or a directory. The server changes the
// names of files and directories in different ways, so documents at both resulting
// paths must not be removed.
func TestUnreadablePathsAreExcludedFromRemoval(t *testing.T) {
	f := folderImport{tree: tree{others: []string{`A\q`}, faults: []Failure{{File: `B\s`}}}}
	excluded := f.excluded()
	for _, at := range []string{`A\q/x.md`, `B\s/y.md`, "q/x.md", "s/y.md"} {
		if !excluded(at) {
			t.Errorf("%s may be removed", at)
		}
	}
	if excluded("C/x.md") {
		t.Error("nothing may be removed")
	}
}
