package mcp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/http/mcp"
	"annals/http/ratelimit"
)

// Tools and resources are charged for their time like routes, and those that
// tell of what was begun are not.
func TestToolsBeyondTheLimit(t *testing.T) {
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
		a.refused(tool, in, "10ms of time", "Call again in", "seconds")
	}
	if _, err := a.read("service://folders"); err == nil || !strings.Contains(err.Error(), "Call again in") {
		t.Errorf("a resource is told with %v", err)
	}
	a.ok("health", nil, nil)
}
