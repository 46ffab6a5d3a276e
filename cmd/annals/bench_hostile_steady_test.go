package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"annals/cmd/annals/client"
)

// steadyUser is a user who imports, searches and asks at a steady rate.
type steadyUser struct {
	*hostileClient

	count     int
	documents []markedDocument
}

// markedDocument is an imported document. Its text contains mark, a word that is in no
// other document.
type markedDocument struct{ id, mark string }

func newSteadyUser(s *benchServer, name string) *steadyUser {
	return &steadyUser{hostileClient: newHostileClient(s, name)}
}

func (u *steadyUser) next() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	return u.count
}

func (u *steadyUser) random() *rand.Rand {
	return rand.New(rand.NewPCG(uint64(u.next()), uint64(u.name[0])))
}

// file returns a file whose text contains mark. kind is a file extension.
func (u *steadyUser) file(kind, mark string) (f upload, err error) {
	random := u.random()
	var text strings.Builder
	for word := range 200 {
		if word == 100 {
			text.WriteString(mark + " ")
		}
		text.WriteString(zipfWord(random))
		if word%12 == 11 {
			text.WriteString(".")
		}
		text.WriteString(" ")
	}
	f.name = mark + kind
	switch kind {
	case ".docx":
		f.content, err = docx(text.String())
	case ".pdf":
		words := strings.Fields(text.String())
		var lines []string
		for part := range slices.Chunk(words, 10) {
			lines = append(lines, strings.Join(part, " "))
		}
		f.content = writePDF(pdfLines(lines), 1)
	default:
		f.content = []byte("# About " + mark + "\n\n" + text.String() + "\n")
	}
	return f, err
}

// importSome imports three files and waits until their job is done.
func (u *steadyUser) importSome(ctx context.Context, n int) error {
	kinds := []string{".md", ".txt", ".docx"}
	if n%3 == 0 {
		kinds[2] = ".pdf"
	}
	return u.importKinds(ctx, n, kinds)
}

// fill imports the documents that a user has at the start.
func (u *steadyUser) fill(ctx context.Context) error {
	for range hostileFill / 50 {
		kinds := slices.Repeat([]string{".md", ".txt", ".docx", ".md", ".pdf"}, 10)
		if err := u.importKinds(ctx, u.next(), kinds); err != nil {
			return err
		}
	}
	return nil
}

func (u *steadyUser) importKinds(ctx context.Context, n int, kinds []string) error {
	var files []upload
	marks := map[string]string{} // by file name
	for i, kind := range kinds {
		mark := fmt.Sprintf("%smark%dq%d", u.name, n, i)
		f, err := u.file(kind, mark)
		if err != nil {
			return err
		}
		files = append(files, f)
		marks[f.name] = mark
	}
	contentType, body, err := form(files)
	if err != nil {
		return err
	}
	status, stream, err := u.send(ctx, http.MethodPost, "/core/ingest?stream=true", contentType, bytes.NewReader(body))
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("import of %d files: %d %.300s %w", len(files), status, stream, err)
	}
	var last struct {
		Type string `json:"event_type"`
		Job  string `json:"job_id"`
	}
	for lines := bufio.NewScanner(bytes.NewReader(stream)); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				return err
			}
		}
	}
	if last.Job == "" {
		return fmt.Errorf("import of %d files: got reply %.1000s", len(files), stream)
	}
	// The reply ends if the job makes no progress for some time, although the import
	// continues. Therefore poll the job.
	var job client.Job
	for {
		if err := u.sendJSON(ctx, http.MethodGet, "/core/jobs/"+last.Job, nil, &job); err != nil {
			return err
		}
		if job.Done {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if job.Successful != len(files) {
		return fmt.Errorf("imported files: want %d, got %d; first failure %+v", len(files), job.Successful, firstFailure(job))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range job.Results {
		u.documents = append(u.documents, markedDocument{r.Document, marks[r.Filename]})
	}
	return nil
}

// found is the reply to a search.
type found struct {
	Sources []struct {
		Document string `json:"document_id"`
		Link     string `json:"deep_link"`
	} `json:"sources"`
}

func (u *steadyUser) search(ctx context.Context, question string) error {
	return u.sendJSON(ctx, http.MethodPost, "/core/search", map[string]string{"query": question}, new(found))
}

func (u *steadyUser) ask(ctx context.Context, question string) error {
	return u.sendJSON(ctx, http.MethodPost, "/core/ask", map[string]string{"query": question}, new(map[string]any))
}

// wantAll checks that each document of the user exists and that a search for its mark
// finds it.
func (u *steadyUser) wantAll(ctx context.Context) error {
	for _, d := range u.documents {
		status, text, err := u.send(ctx, http.MethodGet, "/vault/documents/"+d.id+"/markdown", "text/plain", nil)
		if err != nil || status != http.StatusOK || !bytes.Contains(text, []byte(d.mark)) {
			return fmt.Errorf("the document of %s: %d %.300s %w", d.mark, status, text, err)
		}
		for begun := time.Now(); ; {
			body, err := json.Marshal(map[string]string{"query": d.mark})
			if err != nil {
				return err
			}
			status, text, err := u.send(ctx, http.MethodPost, "/core/search", "application/json", bytes.NewReader(body))
			if err == nil && status == http.StatusTooManyRequests && time.Since(begun) < 2*time.Minute { // so many requests exceed the rate limit of a normal user: try again
				select {
				case <-time.After(time.Second):
					continue
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if err != nil || status != http.StatusOK || !bytes.Contains(text, []byte(d.id)) {
				return fmt.Errorf("search for %s: %d %.300s %w", d.mark, status, text, err)
			}
			break
		}
	}
	return nil
}
