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

// counted notes how many listings of folders are made, and how many at once.
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

// However many calls come in one request, so many are answered, one at a time.
func TestBatchesAreBounded(t *testing.T) {
	c := counted{running: new(atomic.Int32), most: new(atomic.Int32), all: new(atomic.Int32)}
	s := start(t, func(o *mcp.Options) { c.Queries = o.Queries; o.Queries = c })
	const sent, answered = 300, 50
	calls := make([]string, sent)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"service_list_folders"}}`, i)
	}
	resp, body := s.send("POST", "["+strings.Join(calls, ",")+"]", "Authorization", alice)
	var replies []struct {
		Result *struct{}
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &replies); err != nil || resp.StatusCode != 200 || len(replies) != sent {
		t.Fatalf("%d with %d replies, %v: %.200s", resp.StatusCode, len(replies), err, body)
	}
	listed, refused := 0, 0
	for _, r := range replies {
		switch {
		case r.Result != nil:
			listed++
		case strings.Contains(r.Error.Message, "up to 50 calls"):
			refused++
		}
	}
	if listed != answered || refused != sent-answered || c.all.Load() != answered || c.most.Load() != 1 {
		t.Errorf("%d answered and %d refused of %d; %d listings, %d at once", listed, refused, sent, c.all.Load(), c.most.Load())
	}
}
