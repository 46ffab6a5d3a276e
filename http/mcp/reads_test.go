package mcp_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/cmd/usage"
	"annals/commands"
	"annals/commands/quota"
	"annals/events"
	"annals/http/mcp"
	"annals/http/ratelimit"
	"annals/queries"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The duration of tool calls and resource reads counts toward the user's limit on read time,
// except for tools that are marked as free.
func TestToolsBeyondLimit(t *testing.T) {
	s := start(t, func(o *mcp.Options) {
		o.Reads = &ratelimit.Limiter{Limits: func(context.Context, events.User) (quota.Limits, error) {
			return quota.Limits{quota.Search: int64(10 * time.Millisecond)}, nil
		}}
	})
	a := s.connect("alice")
	a.ok("list_tags", nil, nil)
	for tool, in := range map[string]args{
		"search": {"query": "notice"}, "ask": {"query": "notice?"}, "list_folders": nil, "list_tags": nil,
		"list_documents_by_folder": {"folder_name": "F"}, "list_documents_by_tag": {"tag_name": "t"},
	} {
		a.refused(tool, in, "10ms of time", "Call again in", "Call again in ")
	}
	if _, err := a.read("service://folders"); err == nil || !strings.Contains(err.Error(), "Call again in") {
		t.Errorf("read of a resource beyond the limit: %v", err)
	}
	for uri, argument := range map[string]string{"service://folders/{folder_name}": "folder_name", "service://tags/{tag_name}": "tag_name"} {
		_, err := a.Complete(t.Context(), &sdk.CompleteParams{
			Ref: &sdk.CompleteReference{Type: "ref/resource", URI: uri}, Argument: sdk.CompleteParamsArgument{Name: argument, Value: "a"},
		})
		if err == nil || !strings.Contains(err.Error(), "10ms of time") {
			t.Errorf("completion of %s beyond the limit: %v", argument, err)
		}
	}
	a.ok("health", nil, nil)
}

// Replies to repeated refused resource reads are delayed like those to refused tool calls.
func TestRepeatedRefusalsAreDelayed(t *testing.T) {
	s := start(t, func(o *mcp.Options) {
		o.Brake = new(ratelimit.Brake)
		o.Reads = &ratelimit.Limiter{Limits: func(context.Context, events.User) (quota.Limits, error) {
			return quota.Limits{quota.Search: 1}, nil
		}}
	})
	a := s.connect("alice")
	began := time.Now()
	for range 23 { // the first read may succeed
		_, _ = a.read("service://folders")
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("22 refusals took %s, want at least 1 s", took)
	}
}

// A tool call that imports files is subject to the same quota as an upload. A refused call
// stores nothing.
func TestIngestBeyondQuota(t *testing.T) {
	root := t.TempDir()
	path := write(t, filepath.Join(root, "a.txt"), strings.Repeat("lamp oil ", 200))
	s := start(t, func(o *mcp.Options) {
		o.IngestRoots = []string{root}
		handler := o.Commands.(*commands.Handler)
		handler.Quota = &quota.Ledger{Policy: &quota.Policy{User: quota.Limits{quota.Bytes: 1000}}, Usage: usage.Reads{Queries: o.Queries.(*queries.Queries)}}
	})
	before, err := s.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.connect("alice").refused("ingest", args{"file_paths": []string{path}}, "you have 0 B stored and in progress, and the limit is 1000 B", "annals user quota")
	if after, err := s.log.Head(t.Context()); err != nil || after != before {
		t.Errorf("a refused call moved the head of the log from %d to %d (%v)", before, after, err)
	}
	s.connect("admin").ok("ingest", args{"file_paths": []string{path}}, nil)
}
