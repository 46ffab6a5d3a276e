package assets

import (
	"io/fs"
	"path"
	"testing"
)

func TestAllFilesHaveTypes(t *testing.T) {
	all, err := fs.Glob(Files, "*")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, file := range all {
		if types[path.Ext(file)] == "" {
			t.Errorf("%s has no type", file)
		}
	}
}
