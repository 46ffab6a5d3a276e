package mcp_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/http/mcp"
	"annals/queries"
	"annals/queries/accesslog"

	"github.com/google/uuid"
)

// The access log records what agents read and which of their calls were denied, with the name
// of the tool. A request without a token is not recorded.
func TestAccessesByToolsAreRecorded(t *testing.T) {
	var log *accesslog.Log
	s := start(t, func(o *mcp.Options) {
		q := o.Queries.(*queries.Queries)
		var err error
		log, err = accesslog.Open(t.Context(), filepath.Join(t.TempDir(), accesslog.File), accesslog.Options{Find: q.Find, Granted: q.Granted})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		o.Accessed, o.AllowDelete = log.Record, true
	})
	// A search that finds two passages of a document is recorded as one read.
	id := uuid.MustParse(s.file("alice", paper{folder: "Staff", name: "l.md", text: handbook + "\n# Notice\n\nThe notice period is a month.\n"})[0])
	of := map[string]any{"document_id": id.String()}
	agents := map[string]*agent{"alice": s.connect("alice"), "bob": s.connect("bob"), "admin": s.connect("admin")}
	for _, call := range []struct {
		who, tool string
		arguments map[string]any
	}{
		{"bob", "get_document_markdown", of},
		{"bob", "get_document_metadata", of},
		{"bob", "ask", map[string]any{"query": "What?", "document_id": id.String()}},
		{"bob", "get_document_markdown", map[string]any{"document_id": uuid.NewString()}},
		{"bob", "delete_documents", map[string]any{"doc_ids": []string{id.String()}}},
		{"admin", "search", map[string]any{"query": "notice period"}},
		{"alice", "search", map[string]any{"query": "notice period"}},
		{"alice", "get_document_markdown", of},
	} {
		agents[call.who].try(call.tool, call.arguments)
	}
	s.send("POST", initialize)
	s.send("POST", initialize, "Authorization", "Bearer wrong")
	records, err := log.Records(t.Context(), accesslog.Filter{Everywhere: true, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(records)
	var got []string
	for _, r := range records {
		got = append(got, string(r.Actor)+" "+r.Words())
		if r.Via != "tools" || r.Address == "" || r.Correlation == "" || r.Kind != accesslog.TokenRefused && r.Thing != events.DocumentStream(id) {
			t.Errorf("record %+v", r)
		}
	}
	want := []string{
		`user:bob was denied access to document "l.md" (by the tool service_get_document_markdown)`,
		`user:bob was denied access to document "l.md" (by the tool service_get_document_metadata)`,
		`user:bob was denied access to document "l.md" (by the tool service_ask)`,
		`user:bob was denied access to document "l.md" (by the tool service_delete_documents)`,
		`user:admin read document "l.md" as an administrator (by the tool service_search)`,
		`user:alice downloaded document "l.md" (by the tool service_get_document_markdown)`,
		` called without a valid token (POST /mcp)`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
