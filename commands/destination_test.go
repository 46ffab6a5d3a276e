package commands

import (
	"strings"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/memory"
)

func TestAcceptedFileKeepsDeepestFolder(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	top, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, foldertree.Destination{Path: "Reports"})
	if err != nil {
		t.Fatal(err)
	}
	want := []foldertree.Destination{{Path: "Reports", Under: top}, {Path: "Reports/2026/Q3", Under: top, Rest: "2026/Q3"}, {Path: "New/a"}}
	var uploads []Upload
	for _, d := range want {
		uploads = append(uploads, Upload{Name: "a.md", Folder: " " + strings.ReplaceAll(d.Path, "/", " / "), SHA256: shaA, Size: 1})
	}
	started, err := h.StartImport(t.Context(), alice, "", uploads)
	if err != nil {
		t.Fatal(err)
	}
	for file := range want {
		f, err := h.FileToImport(t.Context(), started.Job, file)
		if got := f.Destination(); err != nil || got != want[file] {
			t.Errorf("Destination of file %d = %+v, %v; want %+v", file, got, err, want[file])
		}
	}
}
