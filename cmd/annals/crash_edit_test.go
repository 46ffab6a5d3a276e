package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"annals/cmd/annals/client"
	"annals/events"
)

// editor changes one document and two folders repeatedly, while the server is killed
// from time to time. It records the state that they must have.
type editor struct {
	*crashTest
	vault   *client.Vault
	token   string
	folders [2]string // ids of a top-level folder and of a folder in that

	edits    int // number of calls of all
	document editedDocument
	reader   events.Principal // last principal to whom the lower folder was shared
}

// editedDocument is a document as the vault returns it.
type editedDocument struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Folder  string `json:"folderId"`
	Version int    `json:"version"`
	Content string `json:"content"` // text without Markdown markup
}

// editedFolder is the path of the top-level folder before it is renamed.
const editedFolder = "edited"

func (c *crashTest) newEditor() *editor {
	c.Helper()
	core := c.client()
	e := &editor{crashTest: c, vault: &client.Vault{Client: core.Client}}
	e.vault.URL = c.base + "/vault"
	var err error
	if e.token, err = issueToken(c.data, "admin"); err != nil {
		c.Fatal(err)
	}
	dir := filepath.Join(c.dir, "edited")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note.md"), []byte("# Note\n\nThe first version.\n"), 0o600); err != nil {
		c.Fatal(err)
	}
	job, err := uploadAll(c.Context(), core, dir, editedFolder+"/inner")
	if err == nil {
		job, err = c.ended(c.Context(), core, job.ID)
	}
	if err != nil || job.Successful != 1 {
		c.Fatalf("import of the documents to edit: %+v, %v", job, err)
	}
	for i, path := range []string{editedFolder, editedFolder + "/inner"} {
		folder, err := e.vault.FindFolder(c.Context(), path)
		if err != nil {
			c.Fatal(err)
		}
		e.folders[i] = folder.ID
	}
	if e.document, err = e.read(c.Context(), job.Results[0].Document); err != nil {
		c.Fatal(err)
	}
	e.document.Content = ""
	return e
}

func (e *editor) read(ctx context.Context, id string) (d editedDocument, err error) {
	err = e.vault.Get(ctx, "/documents/"+id, &d)
	return d, err
}

// edit makes changes until the server was killed and is running again. Then it makes
// one more change of each kind.
func (e *editor) edit(ctx context.Context, back <-chan struct{}) error {
	for last := false; !last; {
		select {
		case <-back:
			last = true
		default:
		}
		if err := e.all(ctx); err != nil {
			return fmt.Errorf("edit %d: %w", e.edits, err)
		}
	}
	return nil
}

// all makes one change of every kind.
func (e *editor) all(ctx context.Context) error {
	e.edits++
	n, d := e.edits, &e.document
	d.Name = fmt.Sprintf("note %d.md", n)
	if err := e.change(ctx, http.MethodPatch, "", map[string]any{"name": d.Name}); err != nil {
		return err
	}
	d.Folder = e.folders[1-n%2] // the document begins in the lower folder
	if err := e.change(ctx, http.MethodPatch, "", map[string]any{"folderId": d.Folder}); err != nil {
		return err
	}
	if err := e.change(ctx, http.MethodPut, "/tags", map[string]any{"tags": []string{editedTag(n)}}); err != nil {
		return err
	}
	if err := e.change(ctx, http.MethodPut, "/content", editedText(n)); err != nil {
		return err
	}
	e.reader = events.Principal(fmt.Sprintf("user:reader%d", n))
	list := map[string]any{"permissions": []events.Permission{{Principal: e.reader, Access: "read"}}}
	if err := e.write(ctx, http.MethodPut, "/folders/"+e.folders[1]+"/permissions", "", list); err != nil {
		return err
	}
	return e.write(ctx, http.MethodPatch, "/folders/"+e.folders[0], "", map[string]any{"name": editedName(n)})
}

func editedTag(n int) string  { return fmt.Sprintf("tag %d", n) }
func editedName(n int) string { return fmt.Sprintf("%s %d", editedFolder, n) }
func editedText(n int) string { return fmt.Sprintf("This note tells of %s.", editedWord(n)) }
func editedWord(n int) string { return fmt.Sprintf("zanzibar%dquay", n) }

// change makes one change of the document. If the reply is lost, the version of the
// document shows whether the change was made.
func (e *editor) change(ctx context.Context, method, path string, body any) error {
	for {
		err := e.write(ctx, method, "/documents/"+e.document.ID+path, fmt.Sprintf(`"%d"`, e.document.Version), body)
		if err != nil && !client.IsRefusal(err, http.StatusConflict) {
			return err
		}
		now, err := e.read(ctx, e.document.ID)
		switch {
		case err != nil:
			return err
		case now.Version == e.document.Version+1:
			e.document.Version++
			return nil
		case now.Version != e.document.Version:
			return fmt.Errorf("%s %s with version %d: got version %d", method, path, e.document.Version, now.Version)
		}
	}
}

// write sends a request. A string is sent as the body itself, any other body as JSON.
func (e *editor) write(ctx context.Context, method, path, version string, body any) error {
	text, isText := body.(string)
	if !isText {
		_, err := e.vault.Call(ctx, method, path, version, body, nil)
		return err
	}
	_, err := e.vault.Do(ctx, func() (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, method, e.vault.URL+path, strings.NewReader(text))
		if err == nil {
			r.Header.Set("Content-Type", "text/markdown")
			if version != "" {
				r.Header.Set("If-Match", version)
			}
		}
		return r, err
	})
	return err
}

// wantEdits checks that the document and the folders are in the state after the last
// changes.
func (e *editor) wantEdits() {
	e.Helper()
	ctx := e.Context()
	got, err := e.read(ctx, e.document.ID)
	if !strings.Contains(got.Content, editedText(e.edits)) {
		e.Errorf("the edited document holds %q, want %q in it", got.Content, editedText(e.edits))
	}
	got.Content = ""
	if err != nil || got != e.document {
		e.Errorf("the edited document is %+v, %v; want %+v", got, err, e.document)
	}
	var tags struct{ Tags []string }
	if err := e.vault.Get(ctx, "/documents/"+e.document.ID+"/tags", &tags); err != nil || !slices.Equal(tags.Tags, []string{editedTag(e.edits)}) {
		e.Errorf("its tags are %q, %v; want %q", tags.Tags, err, editedTag(e.edits))
	}
	folder, err := e.vault.FindFolder(ctx, editedName(e.edits)+"/inner")
	if err != nil || folder.ID != e.folders[1] {
		e.Errorf("the edited folder is %+v, %v; want %s in %q", folder, err, e.folders[1], editedName(e.edits))
	}
	p, err := e.vault.Permissions(ctx, e.folders[1])
	if err != nil || len(p.List) != 1 || p.List[0].Principal != e.reader {
		e.Errorf("the edited folder grants %v, %v; want something to %s alone", p.List, err, e.reader)
	}
	e.wantFound()
}

// wantFound checks that a search in the folder, after the search index has caught up,
// finds the last content of the document and no earlier content.
func (e *editor) wantFound() {
	e.Helper()
	scope := editedName(e.edits)
	if e.document.Folder == e.folders[1] {
		scope += "/inner"
	}
	search := func(n int) (status int, texts []string) {
		query := fmt.Sprintf(`{"query": %q, "folder_name": %q, "tags": [%q]}`, editedWord(n), scope, editedTag(e.edits))
		status, body, err := e.server.request(e.token, http.MethodPost, "/core/search", query)
		var found struct{ Sources []struct{ Text string } }
		if err == nil {
			err = json.Unmarshal(body, &found)
		}
		if err != nil {
			e.Fatalf("search: %d %s %v", status, body, err)
		}
		for _, source := range found.Sources {
			texts = append(texts, source.Text)
		}
		return status, texts
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if _, texts := search(e.edits); len(texts) == 1 && strings.Contains(texts[0], editedText(e.edits)) {
			break
		}
	}
	if status, texts := search(e.edits - 1); status != http.StatusOK || len(texts) > 0 {
		e.Errorf("search for the content before = %d %q, want nothing", status, texts)
	}
}
