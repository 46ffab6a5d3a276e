package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hostileUser is a user who causes as much load as possible.
type hostileUser struct {
	*hostileClient
	users []*steadyUser
	files []upload // one costly file of each kind

	replies map[string]map[string]int // number of replies by name of the attack and status
	bytes   int64                     // total size of accepted uploads
	faults  []string
}

func newHostileUser(s *benchServer, name string, users []*steadyUser) *hostileUser {
	return &hostileUser{hostileClient: newHostileClient(s, name), users: users, replies: make(map[string]map[string]int)}
}

func (h *hostileUser) prepare() {
	h.files = nil
	random := rand.New(rand.NewPCG(99, 0))
	for kind := range costlyKinds {
		h.files = append(h.files, costlyFile(kind, random))
	}
}

// attack runs all attacks until ctx ends.
func (h *hostileUser) attack(ctx context.Context) {
	var all sync.WaitGroup
	for name, a := range h.attacks() {
		for worker := range max(1, a.workers) {
			all.Go(func() {
				for n := worker; ctx.Err() == nil; n += max(1, a.workers) {
					h.note(ctx, name, a.do(ctx, n))
					select {
					case <-time.After(a.pause):
					case <-ctx.Done():
					}
				}
			})
		}
	}
	all.Wait()
}

// replied is the result of one request.
type replied struct {
	status int
	reply  []byte
	err    error
	bytes  int // size of the upload, if it was one
}

func (h *hostileUser) note(ctx context.Context, attack string, r replied) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.replies[attack] == nil {
		h.replies[attack] = make(map[string]int)
	}
	switch {
	case ctx.Err() != nil:
	case r.err != nil:
		h.replies[attack]["no reply"]++
	default:
		h.replies[attack][strconv.Itoa(r.status)]++
		if r.status < 300 {
			h.bytes += int64(r.bytes)
		}
		if r.status >= 500 && r.status != http.StatusServiceUnavailable && len(h.faults) < 10 {
			h.faults = append(h.faults, fmt.Sprintf("%s: %d %.300s", attack, r.status, r.reply))
		}
	}
}

func (h *hostileUser) accepted() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes
}

func (h *hostileUser) answers() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for attack, replies := range h.replies {
		lines = append(lines, fmt.Sprintf("%s %v", attack, replies))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// wantNoFault fails the benchmark if a request of the hostile user caused an internal
// error.
func (h *hostileUser) wantNoFault() {
	for _, f := range h.faults {
		h.Errorf("he caused %s", f)
	}
}

// attack is a kind of request that is repeated.
type attack struct {
	workers int
	pause   time.Duration
	do      func(ctx context.Context, n int) replied
}

func (h *hostileUser) attacks() map[string]attack {
	return map[string]attack{
		"costly files": {2, time.Second, func(ctx context.Context, n int) replied {
			random := rand.New(rand.NewPCG(99, uint64(n)))
			var files []upload
			for i := range 4 {
				files = append(files, resalt(h.files[(4*n+i)%costlyKinds], random))
			}
			return h.upload(ctx, files)
		}},
		"many small files": {2, 2 * time.Second, func(ctx context.Context, n int) replied {
			var files []upload
			for i := range 200 {
				files = append(files, upload{fmt.Sprintf("m%d-%d.md", n, i), fmt.Appendf(nil, "# %d of %d\n\nsmall\n", i, n)})
			}
			return h.upload(ctx, files)
		}},
		"slow uploads": {16, 100 * time.Millisecond, func(ctx context.Context, n int) replied {
			contentType, body, err := form([]upload{{fmt.Sprintf("slow-%d.txt", n), bytes.Repeat([]byte("slow "), 20_000)}})
			if err != nil {
				return replied{err: err}
			}
			r := h.post(ctx, "/core/ingest", contentType, &trickle{ctx, body, 10 * time.Second / time.Duration(len(body)/trickleBytes+1)})
			r.bytes = len(body)
			return r
		}},
		"long searches": {4, 2 * time.Millisecond, func(ctx context.Context, n int) replied {
			return h.postJSON(ctx, "/core/search", map[string]any{"query": longQuestion(n, 2000)})
		}},
		"long questions": {4, 2 * time.Millisecond, func(ctx context.Context, n int) replied {
			return h.postJSON(ctx, "/core/ask", map[string]any{"query": longQuestion(n, 2000)})
		}},
		"folders and shares": {2, 50 * time.Millisecond, func(ctx context.Context, n int) replied {
			r := h.postJSON(ctx, "/vault/folders", map[string]any{"name": fmt.Sprintf("%s folder %d", h.users[n%3].name, n)})
			var made struct {
				ID string `json:"id"`
			}
			if r.err != nil || r.status != http.StatusCreated || json.Unmarshal(r.reply, &made) != nil {
				return r
			}
			var grants []map[string]string
			for _, u := range h.users {
				grants = append(grants, map[string]string{"principal": "user:" + u.name, "access": "read"})
			}
			return h.requestJSON(ctx, http.MethodPut, "/vault/folders/"+made.ID+"/permissions", map[string]any{"permissions": grants})
		}},
		"wrong passwords": {2, 100 * time.Millisecond, func(_ context.Context, n int) replied {
			w, err := newWalker(h.users[n%3].name, fmt.Sprint("guess ", n), "allow")
			if err != nil {
				return replied{err: err}
			}
			w.client.Timeout = 30 * time.Second
			_, err = w.walk(h.base + "/signin/")
			return replied{status: http.StatusOK, err: err}
		}},
		"batches of pings": {1, 200 * time.Millisecond, func(ctx context.Context, _ int) replied {
			return h.post(ctx, "/mcp", "application/json", strings.NewReader("["+strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 19_000)+`{"jsonrpc":"2.0","id":2,"method":"ping"}]`))
		}},
		"listings": {2, 10 * time.Millisecond, func(ctx context.Context, n int) replied {
			paths := []string{"/vault/folders?include=true", "/vault/documents?limit=1000", "/vault/audit", "/vault/tags", "/core/folders/summary?folder_name=Inbox"}
			return h.requestJSON(ctx, http.MethodGet, paths[n%len(paths)], nil)
		}},
		"searches by tool": {2, 10 * time.Millisecond, func(ctx context.Context, n int) replied {
			return h.postJSON(ctx, "/mcp", map[string]any{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": map[string]any{
				"name": "service_search", "arguments": map[string]string{"query": longQuestion(n, 300)},
			}})
		}},
	}
}

func longQuestion(n, words int) string {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	all := make([]string, words)
	for i := range all {
		all[i] = zipfWord(random)
	}
	return strings.Join(all, " ")
}

func (h *hostileUser) upload(ctx context.Context, files []upload) replied {
	contentType, body, err := form(files)
	if err != nil {
		return replied{err: err}
	}
	r := h.post(ctx, "/core/ingest", contentType, bytes.NewReader(body))
	r.bytes = len(body)
	return r
}

func (h *hostileUser) post(ctx context.Context, path, contentType string, body io.Reader) (r replied) {
	r.status, r.reply, r.err = h.send(ctx, http.MethodPost, path, contentType, body)
	return r
}

func (h *hostileUser) postJSON(ctx context.Context, path string, body any) replied {
	return h.requestJSON(ctx, http.MethodPost, path, body)
}

func (h *hostileUser) requestJSON(ctx context.Context, method, path string, body any) (r replied) {
	text, err := json.Marshal(body)
	if err != nil {
		return replied{err: err}
	}
	r.status, r.reply, r.err = h.send(ctx, method, path, "application/json", bytes.NewReader(text))
	return r
}

const trickleBytes = 1000

// trickle is a request body that arrives slowly.
type trickle struct {
	ctx   context.Context
	body  []byte
	pause time.Duration
}

func (t *trickle) Read(p []byte) (int, error) {
	if len(t.body) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(t.pause):
	case <-t.ctx.Done():
		return 0, t.ctx.Err()
	}
	n := copy(p, t.body[:min(trickleBytes, len(t.body))])
	t.body = t.body[n:]
	return n, nil
}
