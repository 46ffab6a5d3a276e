package folderimport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// noted writes a state file with the given records of an earlier import. Files that
// exist count as unchanged since that import.
func (f *importer) noted(t *testing.T, outcomes ...outcome) {
	t.Helper()
	for _, o := range outcomes {
		if info, err := os.Stat(filepath.Join(f.Path, o["path"].(string))); err == nil {
			o["size"], o["mtime"] = info.Size(), info.ModTime().UnixNano()
		}
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	err := errors.Join(
		lines.Encode(map[string]any{"import": map[string]any{"server": f.Server, "folder": f.Folder, "dir": f.Path}}),
		lines.Encode(map[string]any{"done": outcomes}),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.State, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// outcome is the record of a file in a state file.
type outcome map[string]any

// madeOf returns the record of a file from which an earlier import created a document.
func madeOf(name, id, text string) outcome {
	return outcome{"path": name, "size": 0, "mtime": 0, "document": id, "sha256": sumOf(text), "version": 1, "made": true}
}

// If another user changes a document after it was listed, the server rejects the change
// that the import sends, and the import reports a conflict.
func TestImportSendsVersionsWithChanges(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "same.md", "same")
	writeFile(t, dir, "changed.md", "new")
	writeFile(t, dir, "renamed.md", "moved")
	changes := core.withVault([]map[string]any{
		vaultDocument("d1", "same.md", "same", 1), vaultDocument("d2", "changed.md", "old", 4),
		vaultDocument("d3", "before.md", "moved", 5), vaultDocument("d4", "gone.md", "gone", 6), vaultDocument("d5", ".hidden.md", "x", 1),
	}, func(method, _ string) int { return http.StatusConflict })
	f := newImporter(t, core, dir)
	f.noted(t, madeOf("before.md", "d3", "moved"))
	f.Delete, f.Yes = true, true
	got, err := f.run(t.Context())
	if err == nil || got.Failed != 1 || got.Removed != 0 || got.Failures[0].File != "gone.md" || !strings.Contains(got.Failures[0].Reason, "version 9") {
		t.Errorf("outcome = %+v, %v; want the document that was changed not to be removed", got, err)
	}
	if want := []string{`PATCH d3 "5" renamed.md`, `DELETE d4 "6" <nil>`}; !slices.Equal(*changes, want) {
		t.Errorf("changes were %q, want %q", *changes, want)
	}
	slices.Sort(core.received)
	if want := []string{"Top/changed.md", "Top/renamed.md"}; !slices.Equal(core.received, want) || core.versions["Top/changed.md"] != 4 {
		t.Errorf("received %q in the place of %v, want %q", core.received, core.versions, want)
	}
}

func TestImportRecognizesRenameOfLostReply(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "new.md", "text")
	document := vaultDocument("d1", "old.md", "text", 2)
	core.withVault([]map[string]any{document}, func(string, string) int {
		document["name"], document["version"] = "new.md", 3
		return http.StatusConflict
	})
	f := newImporter(t, core, dir)
	f.noted(t, madeOf("old.md", "d1", "text"))
	got, err := f.run(t.Context())
	if err != nil || got.Renamed != 1 || len(core.received) > 0 {
		t.Errorf("outcome = %+v, %v; received %q", got, err, core.received)
	}
}

func TestImportKeepsDocumentsChangedAtServer(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "a.md", "mine")
	document := vaultDocument("d1", "a.md", "mine", 1)
	changes := core.withVault([]map[string]any{document}, func(string, string) int { return http.StatusOK })
	f := newImporter(t, core, dir)
	if got, err := f.run(t.Context()); err != nil || got.Unchanged != 1 || got.Skipped != 1 {
		t.Fatalf("outcome = %+v, %v", got, err)
	}
	document["sha256"], document["version"] = sumOf("theirs"), 2
	if got, err := f.run(t.Context()); err != nil || got.Kept != 1 || len(core.received) > 0 || !strings.Contains(f.stderr.String(), "a.md") {
		t.Errorf("outcome = %+v, %v; received %q, printed %q", got, err, core.received, f.stderr.String())
	}
	f.Tags = []string{"x"}
	if got, err := f.run(t.Context()); err != nil || got.Kept != 1 || len(core.received) > 0 || !slices.Equal(*changes, []string{`PUT d1/tags "2" [x]`}) {
		t.Errorf("with a tag: outcome = %+v, %v; received %q, changes %q", got, err, core.received, *changes)
	}
	f.Tags = nil
	writeFile(t, dir, "a.md", "mine, again")
	for range 2 { // the next import reports the conflict again
		if got, err := f.run(t.Context()); err == nil || got.Failed != 1 || len(core.received) > 0 || !strings.Contains(got.Failures[0].Reason, "both changed") {
			t.Errorf("changed at both: outcome = %+v, %v; received %q", got, err, core.received)
		}
	}
	f.Restart = true
	if got, err := f.run(t.Context()); err != nil || got.Failed != 0 || len(core.received) != 1 {
		t.Errorf("restarted: outcome = %+v, %v; received %q", got, err, core.received)
	}
}

func TestRestartOfSingleFile(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "a.md", "mine a")
	writeFile(t, dir, "b.md", "mine b")
	core.withVault([]map[string]any{vaultDocument("d1", "a.md", "theirs a", 2), vaultDocument("d2", "b.md", "theirs b", 2)}, nil)
	f := newImporter(t, core, dir)
	f.noted(t, madeOf("a.md", "d1", "mine a"), madeOf("b.md", "d2", "mine b"))
	f.Restart, f.Path = true, filepath.Join(dir, "a.md")
	if got, err := f.run(t.Context()); err != nil || got.Imported != 1 || !slices.Equal(core.received, []string{"Top/a.md"}) {
		t.Errorf("one file: outcome = %+v, %v; received %q", got, err, core.received)
	}
	f.Restart, f.Path = false, dir
	core.received = nil
	if got, err := f.run(t.Context()); err != nil || got.Kept != 2 || len(core.received) > 0 {
		t.Errorf("the folder: outcome = %+v, %v; received %q, want the documents kept that were changed at the server", got, err, core.received)
	}
}

func TestImportRenamesOnlyItsOwnDocuments(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "copy.md", "policy")
	writeFile(t, dir, "mine.md", "mine")
	writeFile(t, dir, "found.md", "found")
	changes := core.withVault([]map[string]any{
		vaultDocument("d1", "policy.md", "policy", 1), vaultDocument("d2", "Final name.md", "mine", 2), vaultDocument("d3", "theirs.md", "found", 1),
	}, func(string, string) int { return http.StatusOK })
	f := newImporter(t, core, dir)
	theirs := madeOf("theirs.md", "d3", "found") // a document that an import found and did not create
	theirs["made"] = false
	f.noted(t, madeOf("mine.md", "d2", "mine"), theirs)
	got, err := f.run(t.Context())
	slices.Sort(core.received)
	if err != nil || len(*changes) > 0 || got.Kept != 1 || !slices.Equal(core.received, []string{"Top/copy.md", "Top/found.md"}) {
		t.Errorf("outcome = %+v, %v; changes %q, received %q", got, err, *changes, core.received)
	}
	f.Restart = true // the import still knows which documents it created
	if err := os.Rename(filepath.Join(dir, "mine.md"), filepath.Join(dir, "new.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.run(t.Context()); err != nil || len(*changes) > 0 {
		t.Errorf("restarted: %v; changes %q, want none of a document that was renamed at the server", err, *changes)
	}
}

// If several documents have the path of a file, the one in the record of the file
// belongs to it. The others are removed only after the user has confirmed a list of
// them.
func TestImportOfSharedNames(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "b.md", "mine")
	writeFile(t, dir, "c.md", "c")
	other := vaultDocument("d2", "b.md", "theirs", 1)
	other["createdAt"] = "2026-11-21T08:15:03.120Z"
	changes := core.withVault([]map[string]any{vaultDocument("d1", "b.md", "mine", 1), other, vaultDocument("d3", "c.md", "c", 1)}, func(string, string) int { return http.StatusOK })
	f := newImporter(t, core, dir)
	f.noted(t, madeOf("b.md", "d1", "mine"))
	f.Delete, f.Yes = true, true
	if got, err := f.run(t.Context()); err != nil || got.Unchanged != 2 || got.Removed != 0 || len(*changes) > 0 || !strings.Contains(f.stderr.String(), "a file has the same name but belongs to another document: 1") {
		t.Errorf("outcome = %+v, %v; changes %q, printed %q", got, err, *changes, f.stderr.String())
	}
	f.Yes, f.DryRun = false, true
	if got, err := f.run(t.Context()); err != nil || got.Removed != 1 || !strings.Contains(got.Changes[0].String(), "not the document of the file of this name; its id is d2") {
		t.Errorf("what would be asked: %+v, %v", got, err)
	}
	f.Delete, f.DryRun = false, false
	writeFile(t, dir, "b.md", "mine, again")
	if got, err := f.run(t.Context()); err != nil || got.Updated != 1 || len(core.received) > 0 || !slices.Equal(*changes, []string{`PUT d1/content "1" <nil>`}) {
		t.Errorf("outcome = %+v, %v; changes %q, received %q", got, err, *changes, core.received)
	}
}

// If a folder is moved on the server after it was listed, the import removes no
// document from it. The required versions do not prevent that, because moving a folder
// does not change the versions of its documents.
func TestImportRemovesNothingFromMovedFolder(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "same.md", "same")
	changes := core.withVault([]map[string]any{vaultDocument("d1", "same.md", "same", 1), vaultDocument("d2", "gone.md", "gone", 1)}, func(string, string) int { return http.StatusNoContent })
	answer, looks := core.before, 0
	core.before = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("path") {
			if looks++; looks > 1 {
				reply(w, 200, []map[string]any{{"id": "another", "name": "Top"}})
				return true
			}
		}
		return answer(n, w, r)
	}
	f := newImporter(t, core, dir)
	f.Delete, f.Yes = true, true
	if got, err := f.run(t.Context()); err == nil || got.Removed != 0 || got.Failed != 1 || len(*changes) > 0 {
		t.Errorf("outcome = %+v, %v; changes %q", got, err, *changes)
	}
}

func TestDryRunRefusesToEmptyAFolder(t *testing.T) {
	core := newFakeCore(t)
	core.withVault([]map[string]any{vaultDocument("d1", "a.md", "a", 1)}, nil)
	f := newImporter(t, core, t.TempDir())
	f.Delete, f.DryRun = true, true
	if got, err := f.run(t.Context()); err == nil || !strings.Contains(err.Error(), "check that this is the right directory") || got.Removed > 0 {
		t.Errorf("outcome = %+v, %v", got, err)
	}
	f.Force = true
	if got, err := f.run(t.Context()); err != nil || got.Removed != 1 {
		t.Errorf("forced: outcome = %+v, %v", got, err)
	}
}

// If a file could not be imported, the import removes no document, because a document
// without a file may belong to the failed file.
func TestImportRemovesNothingAfterFailure(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "same.md", "same")
	writeFile(t, dir, "empty.md", "")
	if err := os.Symlink("same.md", filepath.Join(dir, "linked.md")); err != nil {
		t.Fatal(err)
	}
	changes := core.withVault([]map[string]any{vaultDocument("d1", "same.md", "same", 1), vaultDocument("d2", "gone.md", "gone", 1), vaultDocument("d3", "linked.md", "x", 1)},
		func(string, string) int { return http.StatusNoContent })
	f := newImporter(t, core, dir)
	f.Delete, f.Yes = true, true
	if got, err := f.run(t.Context()); err == nil || got.Failed != 1 || len(*changes) > 0 || !strings.Contains(f.stderr.String(), "no document was removed") {
		t.Errorf("outcome = %+v, %v; changes %q, printed %q", got, err, *changes, f.stderr.String())
	}
	if err := os.Remove(filepath.Join(dir, "empty.md")); err != nil {
		t.Fatal(err)
	}
	if got, err := f.run(t.Context()); err != nil || got.Removed != 1 || !slices.Equal(*changes, []string{`DELETE d2 "1" <nil>`}) {
		t.Errorf("outcome = %+v, %v; changes %q, want only the document removed whose path holds no link", got, err, *changes)
	}
}
