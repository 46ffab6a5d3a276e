package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/cmd/annals/client"
)

// serve starts a server with the handler handle and returns a client for it.
func serve(t *testing.T, tokens client.TokenSource, handle http.HandlerFunc) client.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return client.Client{
		URL: server.URL, HTTP: server.Client(), Credential: client.Credential{Token: tokens, Name: "the token", Help: "get another"},
		Tries: 5, Pause: time.Millisecond, Notify: func(string) {},
	}
}

func TestUploadRenewsRefusedToken(t *testing.T) {
	issued, accepted := 0, "token 1"
	expires := time.Now().Add(time.Hour)
	tokens := client.IssuedTokens(func(context.Context) (string, time.Time, error) {
		issued++
		return fmt.Sprintf("token %d", issued), expires, nil
	})
	c := client.Core{Client: serve(t, tokens, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer "+accepted {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if err != nil || !strings.Contains(string(body), "# Note") || !strings.Contains(string(body), `[{"folder_name":"Top"}]`) {
			t.Errorf("uploaded body: got %q, %v", body, err)
		}
		_, _ = io.WriteString(w, `{"job_id": "job"}`)
	})}
	file := filepath.Join(t.TempDir(), "note.md")
	if err := os.WriteFile(file, []byte("# Note"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		job, sums, err := c.Upload(t.Context(), []client.File{{Path: file, Folder: "Top"}})
		if err != nil || job.ID != "job" || len(sums) != 1 || len(sums[0]) != 64 {
			t.Fatalf("Upload = %+v, %q, %v", job, sums, err)
		}
		accepted = "token 2"
	}
	if issued != 2 {
		t.Errorf("%d tokens were issued, want 2", issued)
	}
	accepted = "another"
	if _, err := c.Job(t.Context(), "job"); !client.IsRefusal(err, http.StatusUnauthorized) || !strings.Contains(err.Error(), "does not accept the token") || !strings.HasSuffix(err.Error(), "; get another") {
		t.Errorf("Job with a rejected token: got error %v", err)
	}
}

func TestIssuedTokensRenewsInTime(t *testing.T) {
	issued := 0
	tokens := client.IssuedTokens(func(context.Context) (string, time.Time, error) {
		issued++
		return fmt.Sprint("token ", issued), time.Now().Add(time.Duration(issued) * 8 * time.Minute), nil
	})
	for _, want := range []string{"token 1", "token 2", "token 2"} { // the first token expires before the ten minutes that an upload may take
		if got, err := tokens(t.Context(), ""); got != want || err != nil {
			t.Errorf("token = %q, %v; want %q", got, err, want)
		}
	}
}

func TestDoRetries(t *testing.T) {
	for _, c := range []struct {
		status  int
		retried bool
	}{{429, true}, {502, true}, {503, true}, {504, true}, {400, false}, {403, false}, {404, false}, {409, false}, {500, false}} {
		var requests atomic.Int64
		rest := serve(t, client.FixedToken("x"), func(w http.ResponseWriter, _ *http.Request) {
			if requests.Add(1) == 1 {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, `{"detail": [{"msg": "a reason\u001b[2J"}], "message": ["another"]}`)
				return
			}
			_, _ = io.WriteString(w, `{}`)
		})
		err := rest.Get(t.Context(), "/", new(map[string]any))
		if c.retried != (err == nil) || !c.retried && !strings.Contains(err.Error(), fmt.Sprintf("responds %d: a reason\uFFFD[2J; another", c.status)) {
			t.Errorf("Get after %d = %v", c.status, err)
		}
	}
	refused := serve(t, client.FixedToken("x"), nil)
	refused.URL = "http://127.0.0.1:1"
	var waits int
	refused.Notify = func(string) { waits++ }
	if _, err := refused.Probe(t.Context(), refused.Request(t.Context(), "GET", "/", "", nil)); err == nil || waits > 0 {
		t.Errorf("Probe without a server: got error %v after %d retries, want an error without retries", err, waits)
	}
	if err := refused.Get(t.Context(), "/", nil); err == nil || waits != 4 {
		t.Errorf("Get without a server: got error %v after %d retries, want an error after 4", err, waits)
	}
}

func TestUploadReportsUnreadableFile(t *testing.T) {
	c := client.Core{Client: serve(t, client.FixedToken("x"), func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })}
	missing := filepath.Join(t.TempDir(), "missing.md")
	var local *client.FileError
	if _, _, err := c.Upload(t.Context(), []client.File{{Path: missing}}); !errors.As(err, &local) || local.Path != missing || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Upload of a missing file = %v", err)
	}
}

func TestDocumentsReadsAllPages(t *testing.T) {
	endless := false
	vault := client.Vault{Client: serve(t, client.FixedToken("x"), func(w http.ResponseWriter, r *http.Request) {
		cursor := r.URL.Query().Get("cursor")
		if cursor == "" || endless {
			w.Header().Set("Link", `<https://elsewhere.example/documents?cursor=next>; rel="next"`)
		}
		_ = json.NewEncoder(w).Encode([]client.Document{{ID: "after " + cursor, Name: r.URL.Query().Get("folderId")}})
	})}
	all, err := vault.Documents(t.Context(), "f")
	if err != nil || len(all) != 2 || all[1].ID != "after next" || all[1].Name != "f" {
		t.Errorf("Documents = %+v, %v", all, err)
	}
	endless = true
	if all, err := vault.Documents(t.Context(), "f"); err == nil {
		t.Errorf("Documents of a listing without an end = %+v", all)
	}
}

func TestJobTellsWhatTheServerDoes(t *testing.T) {
	for message, want := range map[string]string{
		"1 of 3 files done; recognising page 3 of 12 of a; b.pdf": "recognising page 3 of 12 of a; b.pdf",
		"all files are read; waiting for the read model passages": "waiting for the read model passages",
		"0 of 3 files done": "",
	} {
		if got := (client.Job{Message: message}).Doing(); got != want {
			t.Errorf("message %q: Doing = %q, want %q", message, got, want)
		}
	}
}
