package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"annals/cmd/annals/client"

	"golang.org/x/sync/errgroup"
)

// crashLoad runs several clients that import files and change, move and delete
// documents, while the server is killed and restarted.
type crashLoad struct {
	*crashTest
	editor *editor
	rooms  [2]client.Folder // move moves the folder shelf from one of these to the other
	shelf  client.Folder

	clients *errgroup.Group
	ctx     context.Context // canceled when a client fails
	cancel  context.CancelFunc
	stop    chan struct{}

	rounds  int             // number of calls of importRound
	awaited map[string]bool // ids of the jobs for which a client has waited
	moves   int             // number of times that shelf was moved
	removed []string        // ids of deleted documents

	replacements int // number of calls of replace
}

// loadPause is the pause of a client between two rounds. Without a pause the log would
// become very large; with a long one some failpoints would be passed without any client
// active.
const loadPause = 100 * time.Millisecond

// removedFolder is the top-level folder, without the number at its end, of documents
// that the test deletes.
const removedFolder = "removed"

// newLoad imports the documents that the clients will change, and starts the clients.
func (c *crashTest) newLoad() *crashLoad {
	c.Helper()
	l := &crashLoad{crashTest: c, editor: c.newEditor(), stop: make(chan struct{}), awaited: map[string]bool{}}
	ctx, cancel := context.WithCancel(c.Context())
	l.clients, l.ctx = errgroup.WithContext(ctx)
	l.cancel = cancel
	for i, path := range []string{"room 0/shelf", "room 1"} {
		if err := l.file(l.ctx, path, map[string][]byte{"moved.md": []byte(movedText)}); err != nil {
			c.Fatal(err)
		}
		var err error
		if l.rooms[i], err = l.editor.vault.FindFolder(l.ctx, fmt.Sprint("room ", i)); err != nil {
			c.Fatal(err)
		}
	}
	var err error
	if l.shelf, err = l.editor.vault.FindFolder(l.ctx, "room 0/shelf"); err != nil {
		c.Fatal(err)
	}
	for _, client := range []func() error{
		func() error { return l.editor.all(l.ctx) }, l.importRound, l.remove, l.move, l.replace,
	} {
		l.clients.Go(func() error {
			for {
				if err := client(); err != nil {
					return err
				}
				select {
				case <-l.stop:
					return nil
				case <-time.After(loadPause):
				}
			}
		})
	}
	return l
}

// end stops the clients. It waits until they have finished their current rounds, for
// which a server must be running.
func (l *crashLoad) end() {
	l.Helper()
	close(l.stop)
	if err := l.clients.Wait(); err != nil {
		l.Fatal(err)
	}
}

// importRound uploads the files of one round from all clients, and waits until they are
// imported. Without waiting the import queue would grow without limit.
func (l *crashLoad) importRound() error {
	all, ctx := errgroup.WithContext(l.ctx)
	round := l.rounds
	l.rounds++
	for client := range crashClients {
		all.Go(func() error { return l.send(ctx, round, client) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	l.mu.Lock()
	jobs := slices.Collect(maps.Keys(l.jobs))
	l.mu.Unlock()
	core := l.client()
	for _, id := range jobs {
		if l.awaited[id] {
			continue
		}
		if job, err := l.ended(l.ctx, core, id); err != nil {
			return fmt.Errorf("wait for the job %s: %w; %s", id, err, job.Message)
		}
		l.awaited[id] = true
	}
	return nil
}

// file uploads files and waits until their job has ended.
func (l *crashLoad) file(ctx context.Context, folder string, contents map[string][]byte) error {
	_, err := l.upload(ctx, folder, nil, contents)
	return err
}

// upload is like file, but also adds tags and returns the job.
func (l *crashLoad) upload(ctx context.Context, folder string, tags []string, contents map[string][]byte) (job client.Job, err error) {
	dir := filepath.Join(l.dir, "files", folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return job, err
	}
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return job, err
		}
	}
	batches, err := uploads(dir, folder, len(contents))
	if err != nil {
		return job, err
	}
	for i := range batches[0] {
		batches[0][i].Tags = tags
	}
	core := l.client()
	if job, _, err = core.Upload(ctx, batches[0]); err != nil {
		return job, fmt.Errorf("upload to %s: %w", folder, err)
	}
	l.mu.Lock()
	l.jobs[job.ID] = true
	l.mu.Unlock()
	return l.ended(ctx, core, job.ID)
}

// replacedFolder is the folder of the file that replace uploads repeatedly.
const replacedFolder = "replaced"

func replacedText(n int) string { return fmt.Sprintf("This file holds xylograph%dplate.", n) }

// replace uploads the file in replacedFolder with new content, which replaces its
// document.
func (l *crashLoad) replace() error {
	dir := filepath.Join(l.dir, "files", replacedFolder)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		l.replacements++
		err = os.WriteFile(filepath.Join(dir, "file.md"), []byte(replacedText(l.replacements)), 0o600)
	}
	if err != nil {
		return err
	}
	core := l.client()
	job, _, err := core.Upload(l.ctx, []client.File{{Path: filepath.Join(dir, "file.md"), Folder: replacedFolder, Replace: true}})
	if err != nil {
		return fmt.Errorf("replace a file: %w", err)
	}
	l.mu.Lock()
	l.jobs[job.ID] = true
	l.mu.Unlock()
	if job, err = l.ended(l.ctx, core, job.ID); err == nil && job.Successful != 1 {
		err = fmt.Errorf("replacement %d: %+v", l.replacements, job)
	}
	return err
}

// wantReplaced checks that replacedFolder has one document, with the last content, and
// that searches find only that content.
func (l *crashLoad) wantReplaced() {
	l.Helper()
	folder, _, err := l.editor.vault.FolderAt(l.Context(), replacedFolder)
	if err != nil {
		l.Fatal(err)
	}
	documents, err := l.editor.vault.Documents(l.Context(), folder.ID)
	if err != nil || len(documents) != 1 || documents[0].Version != l.replacements {
		l.Errorf("documents after %d replacements of a file: got %+v (%v), want 1", l.replacements, documents, err)
	}
	for n, want := range map[int]int{l.replacements: 1, l.replacements - 1: 0} {
		found := slices.DeleteFunc(l.found(replacedFolder, replacedText(n)), func(p foundPassage) bool { return !strings.Contains(p.Text, replacedText(n)) })
		if len(found) != want {
			l.Errorf("a search for replacement %d of %d finds %+v", n, l.replacements, found)
		}
	}
}

// wide uploads many files with much metadata, so that the server needs several appends
// to the log to accept them.
func (l *crashLoad) wide() error {
	tags := make([]string, 60)
	for i := range tags {
		tags[i] = fmt.Sprintf("%d %s", i, strings.Repeat("tag", 35))
	}
	contents := map[string][]byte{}
	for n := range 150 {
		contents[fmt.Sprintf("%d.txt", n)] = fmt.Appendf(nil, "The text of file %d.", n)
	}
	_, err := l.upload(l.ctx, "wide", tags, contents)
	return err
}

// long uploads a file that takes long to read, so that the log records when its import
// starts.
func (l *crashLoad) long() error {
	return l.file(l.ctx, "long", map[string][]byte{"long.pdf": longPDF(500, 40)})
}

// remove imports documents, and some files that cannot be read. It then deletes the
// documents, either with their folder or one by one.
func (l *crashLoad) remove() error {
	n := len(l.removed)
	folder := fmt.Sprintf("%s %d", removedFolder, n)
	page, err := docx(fmt.Sprintf("Page %d.", n))
	if err != nil {
		return err
	}
	job, err := l.upload(l.ctx, folder+"/inner", nil, map[string][]byte{
		"note.md": fmt.Appendf(nil, "# Note\n\n%s %d\n", removedWord, n), "page.docx": page, "broken.docx": []byte("no document"),
	})
	if err != nil {
		return err
	}
	var documents []string
	for _, r := range job.Results {
		if r.Success {
			documents = append(documents, r.Document)
		}
	}
	if len(documents) != 2 || job.Status != "complete" {
		return fmt.Errorf("documents of a job with a broken file: got %d: %+v", len(documents), job)
	}
	paths := []string{"/documents/" + documents[0] + "?version=1", "/documents/" + documents[1] + "?version=1"}
	if len(l.removed)%4 == 0 {
		above, err := l.folderAt(folder)
		if err != nil {
			return err
		}
		paths = []string{"/folders/" + above.ID + "?recursive=true"}
	}
	for _, path := range paths {
		err := l.editor.write(l.ctx, http.MethodDelete, path, "", "")
		if err != nil && !client.IsRefusal(err, http.StatusNoContent, http.StatusNotFound) { // 404 means that an earlier attempt succeeded but its reply was lost
			return err
		}
	}
	l.removed = append(l.removed, documents...)
	return nil
}

// folderAt returns the folder at a path, which must exist.
func (l *crashLoad) folderAt(path string) (client.Folder, error) {
	folder, found, err := l.editor.vault.FolderAt(l.ctx, path)
	if err == nil && !found {
		err = fmt.Errorf("folders at the path %s: want exactly one", path)
	}
	return folder, err
}

// movedText is in the moved document, removedWord in all deleted ones.
const (
	movedText   = "This one went through the quagmire."
	removedWord = "ephemeral"
)

// docx returns a Word document with one paragraph.
func docx(text string) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, part := range map[string]string{
		"_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" ` +
			`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml": `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` +
			`<w:body><w:p><w:r><w:t>` + text + `</w:t></w:r></w:p></w:body></w:document>`,
	} {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write([]byte(part))
		}
		if err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

// move moves the folder shelf, which contains a document.
func (l *crashLoad) move() error {
	l.moves++
	return l.editor.write(l.ctx, http.MethodPatch, "/folders/"+l.shelf.ID, "", map[string]any{"parentFolderId": l.rooms[l.moves%2].ID})
}

// want checks that the vault and searches show the result of all changes that the
// clients made.
func (l *crashLoad) want() {
	l.Helper()
	l.editor.wantEdits()
	l.wantDocuments(l.rounds)
	l.wantReplaced()
	for _, id := range l.removed {
		if status, body, err := l.server.request(l.editor.token, http.MethodGet, "/vault/documents/"+id, ""); err != nil || status != http.StatusNotFound {
			l.Errorf("the deleted document %s: %d %s (%v)", id, status, body, err)
		}
	}
	for _, found := range l.found("", removedWord) {
		for _, id := range l.removed {
			if found.Document == id {
				l.Errorf("a search finds the deleted document %s", id)
			}
		}
	}
	scope := l.rooms[l.moves%2].Name + "/shelf"
	if found := l.found(scope, movedText); len(found) != 1 || !strings.Contains(found[0].Text, movedText) {
		l.Errorf("search in %s: got %+v, want the moved document", scope, found)
	}
}

type foundPassage struct {
	Document string `json:"doc_id"`
	Text     string `json:"text"`
}

// found waits until the read models have caught up, and returns the passages that a
// search in a folder finds.
func (l *crashLoad) found(folder, query string) []foundPassage {
	l.Helper()
	body := fmt.Sprintf(`{"query": %q}`, query)
	if folder != "" {
		body = fmt.Sprintf(`{"query": %q, "folder_name": %q}`, query, folder)
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		status, reply, err := l.server.request(l.editor.token, http.MethodPost, "/core/search", body)
		if err == nil && status == http.StatusServiceUnavailable {
			continue
		}
		var found struct {
			Sources []foundPassage `json:"sources"`
		}
		if err == nil {
			err = json.Unmarshal(reply, &found)
		}
		if err != nil || status != http.StatusOK {
			l.Fatalf("search: %d %s (%v)", status, reply, err)
		}
		return found.Sources
	}
}
