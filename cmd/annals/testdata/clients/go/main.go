// Command client performs the typical steps of a client, with the packages that
// oapi-codegen generates. It prints each successful step, and stops at the first
// failure. docs/clients.md has the commands to run it, and describes its arguments.
package main

import (
	"bufio"
	"bytes"
	"client/core"
	"client/vault"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
)

type client struct {
	core      *core.ClientWithResponses
	vault     *vault.ClientWithResponses
	file      string
	original  []byte
	changed   []byte
	job       string
	documents uuid.UUID // the folder
	document  uuid.UUID
}

func main() {
	log.SetFlags(0)
	base, token := os.Args[1], os.Args[2]
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	c := &client{file: os.Args[3]}
	c.core = must(core.NewClientWithResponses(base+"/core", core.WithRequestEditorFn(authorize)))
	c.vault = must(vault.NewClientWithResponses(base+"/vault", vault.WithRequestEditorFn(authorize)))
	c.original, c.changed = must(os.ReadFile(c.file)), must(os.ReadFile(os.Args[4]))
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"progress", c.imports}, {"job", c.follows}, {"search", c.searches}, {"ask", c.asks}, {"list", c.lists}, {"markdown", c.reads}, {"download", c.downloads},
		{"revise", c.revises}, {"conflict", c.conflicts}, {"invalid", c.sendsNonsense}, {"not found", c.misses}, {"share", c.shares}, {"delete", c.deletes},
	} {
		if err := step.do(context.Background()); err != nil {
			log.Fatalf("%s: %v", step.name, err)
		}
		fmt.Println(step.name)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// progress reads the events of a progress stream: each is a line that begins with
// data:, and comments begin with a colon.
func progress(stream io.Reader) (events []core.ProgressEvent, err error) {
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var e core.ProgressEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, lines.Err()
}

func (c *client) imports(ctx context.Context) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	folder, tags := "Go", []string{"go"}
	metadata := must(json.Marshal([]core.FileMetadata{{FolderName: &folder, Tags: &tags}}))
	must(0, form.WriteField("file_metadata", string(metadata)))
	must(must(form.CreateFormFile("files", filepath.Base(c.file))).Write(c.original))
	must(0, form.Close())
	stream := true
	reply, err := c.core.IngestWithBody(ctx, &core.IngestParams{Stream: &stream}, form.FormDataContentType(), &body)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	events, err := progress(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK || len(events) == 0 {
		return fmt.Errorf("status %d, %d events", reply.StatusCode, len(events))
	}
	last := events[len(events)-1]
	if last.EventType != core.ProgressEventEventTypeComplete || last.SuccessfulFiles == nil || *last.SuccessfulFiles != 1 {
		return fmt.Errorf("the last event is %+v", last)
	}
	c.job = last.JobId
	return nil
}

func (c *client) follows(ctx context.Context) error {
	job, err := c.core.GetJobWithResponse(ctx, c.job)
	if err != nil {
		return err
	}
	if job.JSON200 == nil || !job.JSON200.Done || job.JSON200.Results == nil {
		return fmt.Errorf("the job is %s", job.Body)
	}
	c.document, err = uuid.Parse(*(*job.JSON200.Results)[0].DocumentId)
	return err
}

func (c *client) searches(ctx context.Context) error {
	folder, mode := "Go", core.SearchRequestTagModeAll
	found, err := c.core.SearchWithResponse(ctx, core.SearchRequest{Query: "lighthouse", FolderName: &folder, Tags: &[]string{"go"}, TagMode: &mode})
	if err != nil {
		return err
	}
	if found.JSON200 == nil || len(found.JSON200.Sources) == 0 || found.JSON200.Sources[0].DocId != c.document.String() {
		return fmt.Errorf("found %s", found.Body)
	}
	return nil
}

func (c *client) asks(ctx context.Context) error {
	folder := "Go"
	answer, err := c.core.AskWithResponse(ctx, nil, core.AskRequest{Query: "Who finished the lighthouse at Eddystone?", FolderName: &folder})
	if err != nil {
		return err
	}
	if answer.JSON200 == nil || !strings.Contains(answer.JSON200.Answer, "Smeaton") || answer.JSON200.Sources[0].DocId != c.document.String() {
		return fmt.Errorf("the answer is %s", answer.Body)
	}
	return nil
}

func (c *client) lists(ctx context.Context) error {
	folders, err := c.vault.ListFoldersWithResponse(ctx, nil)
	if err != nil {
		return err
	}
	if folders.JSON200 == nil {
		return fmt.Errorf("the folders are %s", folders.Body)
	}
	at := slices.IndexFunc(*folders.JSON200, func(f vault.Folder) bool { return f.Name == "Go" })
	if at < 0 {
		return fmt.Errorf("the folders are %s", folders.Body)
	}
	c.documents = (*folders.JSON200)[at].Id
	listed, err := c.vault.ListDocumentsWithResponse(ctx, &vault.ListDocumentsParams{FolderId: &c.documents})
	if err != nil {
		return err
	}
	if listed.JSON200 == nil || len(*listed.JSON200) != 1 || (*listed.JSON200)[0].Id != c.document {
		return fmt.Errorf("the documents are %s", listed.Body)
	}
	return nil
}

func (c *client) reads(ctx context.Context) error {
	text, err := c.vault.GetMarkdownWithResponse(ctx, c.document, nil)
	if err != nil {
		return err
	}
	if text.StatusCode() != http.StatusOK || !bytes.Contains(text.Body, []byte("finished in 1759 by John Smeaton")) {
		return fmt.Errorf("the text is %s", text.Body)
	}
	return nil
}

func (c *client) downloads(ctx context.Context) error { return c.holds(ctx, c.original) }

// holds returns an error if the stored file has other bytes.
func (c *client) holds(ctx context.Context, want []byte) error {
	content, err := c.vault.GetContentWithResponse(ctx, c.document, nil)
	if err != nil {
		return err
	}
	if content.StatusCode() != http.StatusOK || !bytes.Equal(content.Body, want) {
		return fmt.Errorf("the file is %q", content.Body)
	}
	return nil
}

func (c *client) revise(ctx context.Context, version int) (*vault.ReviseDocumentResponse, error) {
	params := &vault.ReviseDocumentParams{IfMatch: fmt.Sprintf(`"%d"`, version)}
	return c.vault.ReviseDocumentWithBodyWithResponse(ctx, c.document, params, "application/octet-stream", bytes.NewReader(c.changed))
}

func (c *client) revises(ctx context.Context) error {
	revised, err := c.revise(ctx, 1)
	if err != nil {
		return err
	}
	if revised.JSON200 == nil || revised.JSON200.Version != 2 {
		return fmt.Errorf("the document is %s", revised.Body)
	}
	return c.holds(ctx, c.changed)
}

func (c *client) conflicts(ctx context.Context) error {
	stale, err := c.revise(ctx, 1)
	if err != nil {
		return err
	}
	if stale.JSON409 == nil || stale.JSON409.StatusCode != http.StatusConflict {
		return fmt.Errorf("the reply is %s", stale.Body)
	}
	return nil
}

func (c *client) sendsNonsense(ctx context.Context) error {
	limit := 0
	invalid, err := c.core.SearchWithResponse(ctx, core.SearchRequest{Query: "lighthouse", Limit: &limit})
	if err != nil {
		return err
	}
	if invalid.JSON422 == nil {
		return fmt.Errorf("the reply is %s", invalid.Body)
	}
	if field, err := invalid.JSON422.Detail[0].Loc[1].AsValidationFaultDetailLoc0(); err != nil || field != "limit" {
		return fmt.Errorf("the field at fault is %q (%w)", field, err)
	}
	return nil
}

func (c *client) misses(ctx context.Context) error {
	nothing, err := c.vault.GetDocumentWithResponse(ctx, uuid.New(), nil)
	if err != nil {
		return err
	}
	if nothing.JSON404 == nil {
		return fmt.Errorf("the reply is %s", nothing.Body)
	}
	if message, err := nothing.JSON404.Message.AsFaultMessage0(); err != nil || message != "not_found" {
		return fmt.Errorf("the message is %q (%w)", message, err)
	}
	return nil
}

func (c *client) shares(ctx context.Context) error {
	shared, err := c.vault.ShareFolderWithResponse(ctx, c.documents, nil, vault.ShareFolderJSONRequestBody{
		Permissions: []vault.Permission{{Principal: "user:bob", Access: vault.PermissionAccessRead}},
	})
	if err != nil {
		return err
	}
	if shared.JSON200 == nil || len(shared.JSON200.Permissions) != 1 {
		return fmt.Errorf("the permissions are %s", shared.Body)
	}
	if p := shared.JSON200.Permissions[0]; p.Principal != "user:bob" || p.Access != vault.PermissionAccessRead { // and p.Pending, until bob accepts
		return fmt.Errorf("the permissions are %s", shared.Body)
	}
	return nil
}

func (c *client) deletes(ctx context.Context) error {
	version := `"2"`
	removed, err := c.vault.DeleteDocumentWithResponse(ctx, c.document, &vault.DeleteDocumentParams{IfMatch: &version})
	if err != nil {
		return err
	}
	if removed.StatusCode() != http.StatusNoContent {
		return fmt.Errorf("the reply is %s", removed.Body)
	}
	gone, err := c.vault.GetDocumentWithResponse(ctx, c.document, nil)
	if err != nil {
		return err
	}
	if gone.JSON404 == nil {
		return fmt.Errorf("the reply is %s", gone.Body)
	}
	return nil
}
