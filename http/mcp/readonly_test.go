package mcp_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/http/mcp"
)

// With a read-only API token an agent is offered only tools that read. If it calls other tools
// nevertheless, nothing changes.
func TestReadTokenChangesNothing(t *testing.T) {
	root, set := everything(t)
	file := filepath.Join(root, "a.md")
	if err := os.WriteFile(file, []byte("# A"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, set, func(o *mcp.Options) {
		o.Verify = func(ctx context.Context, token string) (events.User, time.Time, error) {
			name, readOnly := strings.CutSuffix(token, "-reads")
			u, until, err := verify(ctx, name)
			if u.ReadOnly = readOnly; readOnly {
				u.Token = "t-test"
			}
			return u, until, err
		}
	})
	job, ids := s.importJob("alice", paper{"Open", "open.md", "# Penguins\n\nThe penguin lives in the south.\n", []string{"seen"}})
	folder, _, err := s.queries.FolderAt(t.Context(), user("alice"), "Open")
	if err != nil {
		t.Fatal(err)
	}
	all, reader := s.connect("alice"), s.connect("alice-reads")
	changing := []string{"service_accept_invitation", "service_decline_invitation", "service_delete_documents", "service_ingest", "service_reread_documents"}
	offered := slices.Collect(maps.Keys(reader.schemas))
	for name := range all.schemas {
		if slices.Contains(offered, name) == slices.Contains(changing, name) {
			t.Errorf("%s is offered to a read-only token: %t, want %t; tools that write are listed in http/mcp/readonly_test.go", name, slices.Contains(offered, name), !slices.Contains(changing, name))
		}
	}
	reader.schemas = all.schemas // the reader can then call tools that it was not offered
	to := target{"Open", folder.ID.String(), "seen", ids[0], job}
	before, err := s.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, ways := range aims {
		if strings.HasPrefix(name, "service://") {
			if _, err := reader.read(to.fill(ways[0])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var in args
		if err := json.Unmarshal([]byte(to.fill(strings.ReplaceAll(ways[0], "{file}", file))), &in); err != nil {
			t.Fatal(err)
		}
		if text, _, failed := reader.try(strings.TrimPrefix(name, "service_"), in); failed != slices.Contains(changing, name) || failed && !strings.Contains(text, "the token may only read") {
			t.Errorf("%s by a read-only token = %q, failed: %t", name, text, failed)
		}
	}
	if after, err := s.log.Head(t.Context()); err != nil || after != before {
		t.Errorf("a read-only token moved the head of the log from %d to %d, %v", before, after, err)
	}
}
