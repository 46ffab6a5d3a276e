package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
		case r.Method == http.MethodGet:
			reply(w, 200, documents[slices.IndexFunc(documents, func(d map[string]any) bool { return d["id"] == id })])
		default:
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			*changes = append(*changes, fmt.Sprint(r.Method, " ", id, " ", r.Header.Get("If-Match"), " ", body["name"]))
			status := change(r.Method, id)
			reply(w, status, map[string]any{"message": "document is at version 9"})
		}
		return true
	}
	return changes
}

func vaultDocument(id, name, text string, version int) map[string]any {
	sum := sha256.Sum256([]byte(text))
	return map[string]any{"id": id, "name": name, "folderId": "top", "version": version, "sha256": hex.EncodeToString(sum[:]), "createdAt": "2026-11-20T08:15:03.120Z"}
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
	got, err := newFolderImporter(t, core, dir).run(t.Context())
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
	core.withVault([]map[string]any{document}, nil)
	f := newFolderImporter(t, core, dir)
	if got, err := f.run(t.Context()); err != nil || got.Unchanged != 1 || got.Skipped != 1 {
		t.Fatalf("outcome = %+v, %v", got, err)
	}
	document["sha256"] = vaultDocument("d1", "a.md", "theirs", 2)["sha256"]
	if got, err := f.run(t.Context()); err != nil || got.Kept != 1 || len(core.received) > 0 || !strings.Contains(f.err.String(), "a.md") {
		t.Errorf("outcome = %+v, %v; received %q, told %q", got, err, core.received, f.err.String())
	}
	writeFile(t, dir, "a.md", "mine, again")
	if got, err := f.run(t.Context()); err != nil || got.Kept != 0 || len(core.received) != 1 {
		t.Errorf("outcome = %+v, %v; received %q", got, err, core.received)
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
