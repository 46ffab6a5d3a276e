package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestConcurrentGrantsAreKept runs several annals share commands on one folder at the
// same time. A command has to retry if another command has changed the folder first,
// and no grant may be lost.
func TestConcurrentGrantsAreKept(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "annals-data")
	server, err := startServer(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	token, err := issueToken(data, "admin")
	if err != nil {
		t.Fatal(err)
	}
	if status, body, err := server.request(token, http.MethodPost, "/vault/folders", `{"name": "reports"}`); status != http.StatusCreated {
		t.Fatalf("POST /folders = %d %s %v", status, body, err)
	}
	share := func(args ...string) (string, error) {
		var out, says bytes.Buffer
		err := run(t.Context(), append([]string{"share", "--data", data, "reports"}, args...), nil, &out, &says)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, says.String())
		}
		return out.String(), err
	}
	const operators = 8
	var group sync.WaitGroup
	for i := range operators {
		group.Go(func() {
			if _, err := share(fmt.Sprintf("user:user%d", i), "read", "--force"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	list, err := share()
	if err != nil {
		t.Fatal(err)
	}
	for i := range operators {
		if who := fmt.Sprintf("user:user%d", i); strings.Count(list, who) != 1 {
			t.Errorf("the folder's list is\n%s\nwant %s in it once", list, who)
		}
	}
}
