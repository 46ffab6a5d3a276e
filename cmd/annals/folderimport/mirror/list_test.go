package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"annals/cmd/annals/folderimport/mirror"
)

// server is a Lister. Its keys are ids of folders.
type server map[string]struct {
	folders   []mirror.Folder
	documents []mirror.Document
}

func (s server) Subfolders(_ context.Context, id string) ([]mirror.Folder, error) {
	if id == "broken" {
		return nil, errors.New("broken")
	}
	return s[id].folders, nil
}

func (s server) Documents(_ context.Context, id string) ([]mirror.Document, error) {
	return s[id].documents, nil
}

func TestListReadsAllLevels(t *testing.T) {
	s := server{
		"top": {[]mirror.Folder{{"1", "a"}, {"2", "b"}}, []mirror.Document{{ID: "x", Path: "x.md"}}},
		"1":   {[]mirror.Folder{{"3", "c"}}, nil},
		"3":   {nil, []mirror.Document{{ID: "y", Path: "y.md"}}},
	}
	tree, err := mirror.List(t.Context(), s, "top", 2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range tree.Documents {
		got = append(got, d.Path)
	}
	slices.Sort(got)
	if want := []string{"a/c/y.md", "x.md"}; !slices.Equal(got, want) || fmt.Sprint(tree.Folders) != "map[:top a:1 a/c:3 b:2]" {
		t.Errorf("List = %v, %v", got, tree.Folders)
	}
	s["2"] = struct {
		folders   []mirror.Folder
		documents []mirror.Document
	}{[]mirror.Folder{{"broken", "d"}}, nil}
	if _, err := mirror.List(t.Context(), s, "top", 2); err == nil {
		t.Error("List ignores a folder that cannot be listed")
	}
}
