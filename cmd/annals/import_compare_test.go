package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withVault has a core answer for a vault, too, whose folder Top holds documents.
// Changes of those are answered by change, and noted.
func (f *fakeCore) withVault(documents []map[string]any, change func(method, id string) int) (changes *[]string) {
	changes = new([]string)
	f.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		path, ok := strings.CutPrefix(r.URL.Path, "/vault")
		if !ok {
			return false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		id := strings.TrimPrefix(path, "/documents/")
		switch {
		case path == "/folders" && r.URL.Query().Get("path") == "Top":
			reply(w, 200, []map[string]any{{"id": "top", "name": "Top"}})
		case path == "/folders":
			reply(w, 200, []any{})
		case path == "/documents":
			reply(w, 200, documents)
		case r.Method == http.MethodGet && strings.HasSuffix(id, "/tags"):
			id = strings.TrimSuffix(id, "/tags")
			d := documents[slices.IndexFunc(documents, func(d map[string]any) bool { return d["id"] == id })]
			w.Header().Set("ETag", fmt.Sprintf("\"%d\"", d["version"]))
			reply(w, 200, map[string]any{"tags": []string{}})
		case r.Method == http.MethodGet:
			reply(w, 200, documents[slices.IndexFunc(documents, func(d map[string]any) bool { return d["id"] == id })])
		default:
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			changed := body["name"]
			if tags, ok := body["tags"]; ok {
				changed = tags
			}
			*changes = append(*changes, fmt.Sprint(r.Method, " ", id, " ", r.Header.Get("If-Match"), " ", changed))
			status := change(r.Method, id)
			reply(w, status, map[string]any{"message": "document is at version 9"})
		}
		return true
	}
	return changes
}

func vaultDocument(id, name, text string, version int) map[string]any {
	return map[string]any{"id": id, "name": name, "folderId": "top", "version": version, "sha256": sumOf(text), "createdAt": "2026-11-20T08:15:03.120Z"}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// noted gives an importer the state of an earlier import, of which the files are as
// they were.
func (f *folderImporter) noted(t *testing.T, outcomes ...fileOutcome) {
	t.Helper()
	state, err := openState(f.state, importKey{f.server, f.folder, f.dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if info, err := os.Stat(filepath.Join(f.dir, o.Path)); err == nil && o.Size == 0 {
			outcomes[i].localFile = describeFile(o.Path, info)
		}
	}
	if err := errors.Join(state.ended("", outcomes), state.close()); err != nil {
		t.Fatal(err)
	}
}

// madeOf is what is noted of a file of which an import made a document.
func madeOf(name, id, text string) fileOutcome {
	return fileOutcome{localFile: localFile{Path: name}, Document: id, SHA256: sumOf(text), Version: 1, Made: true}
}

// What somebody changed after the listing is overwritten, renamed and removed by
// none of what the listing led to.
func TestImportSendsVersionsWithItsChanges(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "same.md", "same")
	writeFile(t, dir, "changed.md", "new")
	writeFile(t, dir, "renamed.md", "moved")
	changes := core.withVault([]map[string]any{
		vaultDocument("d1", "same.md", "same", 1), vaultDocument("d2", "changed.md", "old", 4),
		vaultDocument("d3", "before.md", "moved", 5), vaultDocument("d4", "gone.md", "gone", 6), vaultDocument("d5", ".hidden.md", "x", 1),
	}, func(method, _ string) int { return http.StatusConflict })
	f := newFolderImporter(t, core, dir)
	f.noted(t, madeOf("before.md", "d3", "moved"))
	f.delete, f.yes = true, true
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

func TestImportTakesALostReplyToARenameForDone(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "new.md", "text")
	document := vaultDocument("d1", "old.md", "text", 2)
	core.withVault([]map[string]any{document}, func(string, string) int {
		document["name"], document["version"] = "new.md", 3
		return http.StatusConflict
	})
	f := newFolderImporter(t, core, dir)
	f.noted(t, madeOf("old.md", "d1", "text"))
	got, err := f.run(t.Context())
	if err != nil || got.Renamed != 1 || len(core.received) > 0 {
		t.Errorf("outcome = %+v, %v; received %q", got, err, core.received)
	}
}

// A document that was changed at the service stays while its file does.
func TestImportKeepsWhatWasChangedAtTheServer(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "a.md", "mine")
	document := vaultDocument("d1", "a.md", "mine", 1)
	changes := core.withVault([]map[string]any{document}, func(string, string) int { return http.StatusOK })
	f := newFolderImporter(t, core, dir)
	if got, err := f.run(t.Context()); err != nil || got.Unchanged != 1 || got.Skipped != 1 {
		t.Fatalf("outcome = %+v, %v", got, err)
	}
	document["sha256"], document["version"] = sumOf("theirs"), 2
	if got, err := f.run(t.Context()); err != nil || got.Kept != 1 || len(core.received) > 0 || !strings.Contains(f.err.String(), "a.md") {
		t.Errorf("outcome = %+v, %v; received %q, told %q", got, err, core.received, f.err.String())
	}
	f.tags = []string{"x"}
	if got, err := f.run(t.Context()); err != nil || got.Kept != 1 || len(core.received) > 0 || !slices.Equal(*changes, []string{`PUT d1/tags "2" [x]`}) {
		t.Errorf("with a tag: outcome = %+v, %v; received %q, changes %q", got, err, core.received, *changes)
	}
	f.tags = nil
	writeFile(t, dir, "a.md", "mine, again")
	for range 2 { // what failed is no less a conflict
		if got, err := f.run(t.Context()); err == nil || got.Failed != 1 || len(core.received) > 0 || !strings.Contains(got.Failures[0].Reason, "both changed") {
			t.Errorf("changed at both: outcome = %+v, %v; received %q", got, err, core.received)
		}
	}
	f.restart = true
	if got, err := f.run(t.Context()); err != nil || got.Failed != 0 || len(core.received) != 1 {
		t.Errorf("restarted: outcome = %+v, %v; received %q", got, err, core.received)
	}
}

// What is started anew for one file is not for those beside it.
func TestImportRestartsOneFileAlone(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "a.md", "mine a")
	writeFile(t, dir, "b.md", "mine b")
	core.withVault([]map[string]any{vaultDocument("d1", "a.md", "theirs a", 2), vaultDocument("d2", "b.md", "theirs b", 2)}, nil)
	f := newFolderImporter(t, core, dir)
	f.noted(t, madeOf("a.md", "d1", "mine a"), madeOf("b.md", "d2", "mine b"))
	f.restart, f.dir = true, filepath.Join(dir, "a.md")
	if got, err := f.run(t.Context()); err != nil || got.Imported != 1 || !slices.Equal(core.received, []string{"Top/a.md"}) {
		t.Errorf("one file: outcome = %+v, %v; received %q", got, err, core.received)
	}
	f.restart, f.dir = false, dir
	core.received = nil
	if got, err := f.run(t.Context()); err != nil || got.Kept != 2 || len(core.received) > 0 {
		t.Errorf("the folder: outcome = %+v, %v; received %q, want the documents kept that were changed at the server", got, err, core.received)
	}
}

// A plain import renames what it made alone, and not what somebody gave another name.
func TestImportLeavesDocumentsOfOthersAlone(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "copy.md", "policy")
	writeFile(t, dir, "mine.md", "mine")
	writeFile(t, dir, "found.md", "found")
	changes := core.withVault([]map[string]any{
		vaultDocument("d1", "policy.md", "policy", 1), vaultDocument("d2", "Final name.md", "mine", 2), vaultDocument("d3", "theirs.md", "found", 1),
	}, func(string, string) int { return http.StatusOK })
	f := newFolderImporter(t, core, dir)
	theirs := madeOf("theirs.md", "d3", "found") // which was there with the same bytes
	theirs.Made = false
	f.noted(t, madeOf("mine.md", "d2", "mine"), theirs)
	got, err := f.run(t.Context())
	slices.Sort(core.received)
	if err != nil || len(*changes) > 0 || got.Kept != 1 || !slices.Equal(core.received, []string{"Top/copy.md", "Top/found.md"}) {
		t.Errorf("outcome = %+v, %v; changes %q, received %q", got, err, *changes, core.received)
	}
	f.restart = true // which forgets what was noted, but not what the import made
	if err := os.Rename(filepath.Join(dir, "mine.md"), filepath.Join(dir, "new.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.run(t.Context()); err != nil || len(*changes) > 0 {
		t.Errorf("restarted: %v; changes %q, want none of a document that was renamed at the server", err, *changes)
	}
}

// Of documents that share a name the one that was noted is the file's, and the others
// are removed only by who has seen them.
func TestImportReplacesTheDocumentThatItMade(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "b.md", "mine")
	writeFile(t, dir, "c.md", "c")
	other := vaultDocument("d2", "b.md", "theirs", 1)
	other["createdAt"] = "2026-11-21T08:15:03.120Z"
	changes := core.withVault([]map[string]any{vaultDocument("d1", "b.md", "mine", 1), other, vaultDocument("d3", "c.md", "c", 1)}, func(string, string) int { return http.StatusOK })
	f := newFolderImporter(t, core, dir)
	f.noted(t, madeOf("b.md", "d1", "mine"))
	f.delete, f.yes = true, true
	if got, err := f.run(t.Context()); err != nil || got.Unchanged != 2 || got.Removed != 0 || len(*changes) > 0 || !strings.Contains(f.err.String(), "another document of the same name") {
		t.Errorf("outcome = %+v, %v; changes %q, printed %q", got, err, *changes, f.err.String())
	}
	f.yes, f.dryRun = false, true
	if got, err := f.run(t.Context()); err != nil || got.Removed != 1 || !strings.Contains(got.Changes[0].String(), "another document of this name than the file's, d2") {
		t.Errorf("what would be asked: %+v, %v", got, err)
	}
	f.delete, f.dryRun = false, false
	writeFile(t, dir, "b.md", "mine, again")
	if got, err := f.run(t.Context()); err != nil || got.Updated != 1 || len(core.received) > 0 || !slices.Equal(*changes, []string{`PUT d1/content "1" <nil>`}) {
		t.Errorf("outcome = %+v, %v; changes %q, received %q", got, err, *changes, core.received)
	}
}

// Whether a path that cannot be read is a file or a folder is not known, and the
// service keeps their names in different ways.
func TestImportLeavesWhatMayLieBehindAFaultOrALink(t *testing.T) {
	f := folderImport{tree: tree{others: []string{`A\q`}, faults: []failure{{File: `B\s`}}}}
	foreign := f.foreign()
	for _, at := range []string{`A\q/x.md`, `B\s/y.md`, "q/x.md", "s/y.md"} {
		if !foreign(at) {
			t.Errorf("%s may be removed", at)
		}
	}
	if foreign("C/x.md") {
		t.Error("nothing may be removed")
	}
}

// A folder that was moved since the listing takes its documents with it, at the
// versions that they had.
func TestImportRemovesNothingOutOfAMovedFolder(t *testing.T) {
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
	f := newFolderImporter(t, core, dir)
	f.delete, f.yes = true, true
	if got, err := f.run(t.Context()); err == nil || got.Removed != 0 || got.Failed != 1 || len(*changes) > 0 {
		t.Errorf("outcome = %+v, %v; changes %q", got, err, *changes)
	}
}

// The summary of a dry run is that of the run.
func TestDryRunRefusesToEmptyAFolder(t *testing.T) {
	core := newFakeCore(t)
	core.withVault([]map[string]any{vaultDocument("d1", "a.md", "a", 1)}, nil)
	f := newFolderImporter(t, core, t.TempDir())
	f.delete, f.dryRun = true, true
	if got, err := f.run(t.Context()); err == nil || !strings.Contains(err.Error(), "is it the right folder") || got.Removed > 0 {
		t.Errorf("outcome = %+v, %v", got, err)
	}
	f.force = true
	if got, err := f.run(t.Context()); err != nil || got.Removed != 1 {
		t.Errorf("forced: outcome = %+v, %v", got, err)
	}
}

// A file that failed may be what a document without a file has become.
func TestNothingIsRemovedAfterAFailure(t *testing.T) {
	core := newFakeCore(t)
	dir := t.TempDir()
	writeFile(t, dir, "same.md", "same")
	writeFile(t, dir, "empty.md", "")
	if err := os.Symlink("same.md", filepath.Join(dir, "linked.md")); err != nil {
		t.Fatal(err)
	}
	changes := core.withVault([]map[string]any{vaultDocument("d1", "same.md", "same", 1), vaultDocument("d2", "gone.md", "gone", 1), vaultDocument("d3", "linked.md", "x", 1)},
		func(string, string) int { return http.StatusNoContent })
	f := newFolderImporter(t, core, dir)
	f.delete, f.yes = true, true
	if got, err := f.run(t.Context()); err == nil || got.Failed != 1 || len(*changes) > 0 || !strings.Contains(f.err.String(), "nothing was removed") {
		t.Errorf("outcome = %+v, %v; changes %q, told %q", got, err, *changes, f.err.String())
	}
	if err := os.Remove(filepath.Join(dir, "empty.md")); err != nil {
		t.Fatal(err)
	}
	if got, err := f.run(t.Context()); err != nil || got.Removed != 1 || !slices.Equal(*changes, []string{`DELETE d2 "1" <nil>`}) {
		t.Errorf("outcome = %+v, %v; changes %q, want only the document removed whose path holds no link", got, err, *changes)
	}
}
