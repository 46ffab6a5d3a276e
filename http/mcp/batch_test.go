package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/http/mcp"
)

// counted counts all calls of FolderPage and the largest number of them that ran concurrently.
type counted struct {
	mcp.Queries
	running, most, all *atomic.Int32
}

func (c counted) FolderPage(ctx context.Context, user events.User, after string, limit int) ([]string, error) {
	c.all.Add(1)
	if n := c.running.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	defer c.running.Add(-1)
	return c.Queries.FolderPage(ctx, user, after, limit)
}

// A batch of up to 50 calls is handled, one call at a time. A larger batch receives one error,
// and none of its calls is handled.
func TestBatchesAreLimited(t *testing.T) {
	c := counted{running: new(atomic.Int32), most: new(atomic.Int32), all: new(atomic.Int32)}
	s := start(t, func(o *mcp.Options) { c.Queries = o.Queries; o.Queries = c })
	batch := func(n int, call string) string {
		calls := make([]string, n)
		for i := range calls {
			calls[i] = fmt.Sprintf(call, i)
		}
		return "[" + strings.Join(calls, ",") + "]"
	}
	const list = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"service_list_folders"}}`
	resp, body := s.send("POST", batch(50, list), "Authorization", alice)
	var replies []struct{ Result *struct{} }
	if err := json.Unmarshal([]byte(body), &replies); err != nil || resp.StatusCode != 200 || len(replies) != 50 {
		t.Fatalf("50 calls = %d with %d replies, %v: %.200s", resp.StatusCode, len(replies), err, body)
	}
	if c.all.Load() != 50 || c.most.Load() != 1 {
		t.Errorf("%d calls, up to %d concurrent; want 50, one at a time", c.all.Load(), c.most.Load())
	}
	const ping, notified = `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/%d"}`
	for name, sent := range map[string]string{
		"51 calls": batch(51, list), "19,000 pings": batch(19_000, ping), "notifications": batch(51, notified), "numbers": batch(400_000, "%d"),
		"blanks before": strings.Repeat(" \n", 900) + batch(51, ping), "none": "[]", "nested": "[" + strings.TrimSuffix(strings.Repeat("[],", 60), ",") + "]",
	} {
		resp, body := s.send("POST", sent, "Authorization", alice)
		var one struct {
			ID    any
			Error struct {
				Code    int
				Message string
			}
		}
		large := len(sent) > 1<<20
		if err := json.Unmarshal([]byte(body), &one); err != nil || len(body) > 300 || one.ID != nil || !strings.Contains(one.Error.Message, "a batch m") && !large ||
			!large && (resp.StatusCode != 400 || one.Error.Code != -32600) || large && resp.StatusCode != 413 {
			t.Errorf("%s = %d, %v: %.300s", name, resp.StatusCode, err, body)
		}
	}
	if c.all.Load() != 50 {
		t.Errorf("%d calls of refused batches were handled, want none", c.all.Load()-50)
	}
}
