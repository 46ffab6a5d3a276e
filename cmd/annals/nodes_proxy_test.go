package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/client"
)

// proxy sends requests to nodes in turns, those that say they are ready. It never
// makes one twice.
type proxy struct {
	nodes  *nodes
	client *http.Client

	mu        sync.Mutex
	addresses []string
	ready     []bool
	requests  []int
	next      int
}

// newProxy asks every tenth of a second which nodes are ready.
func newProxy(t *testing.T, s *nodes) *proxy {
	p := &proxy{nodes: s, client: client.NewHTTPClient(8), ready: make([]bool, len(s.all)), requests: make([]int, len(s.all))}
	for _, node := range s.all {
		p.addresses = append(p.addresses, node.base)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var looking sync.WaitGroup
	for i := range s.all {
		p.look(ctx, i)
		looking.Go(func() {
			again := time.NewTicker(100 * time.Millisecond)
			defer again.Stop()
			for {
				select {
				case <-again.C:
					p.look(ctx, i)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		stop()
		looking.Wait()
	})
	return p
}

func (p *proxy) look(ctx context.Context, i int) {
	status, _, err := p.do(ctx, i, "", http.MethodGet, "/readyz", "")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready[i] = err == nil && status == http.StatusOK
}

// await waits until a node is sent requests.
func (p *proxy) await(i int) {
	p.nodes.Helper()
	p.nodes.await("the proxy sends requests to a node", func() (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ready[i], "it is not ready"
	})
}

// served returns how many requests each node was sent.
func (p *proxy) served() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// request makes a request at the node whose turn it is.
func (p *proxy) request(ctx context.Context, token, method, path, body string) (status int, reply []byte, err error) {
	return p.do(ctx, p.turn(), token, method, path, body)
}

func (p *proxy) turn() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.ready {
		p.next = (p.next + 1) % len(p.ready)
		if p.ready[p.next] {
			break
		}
	}
	p.requests[p.next]++
	return p.next
}

func (p *proxy) do(ctx context.Context, i int, token, method, path, body string) (status int, reply []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, p.addresses[i]+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	reply, err = io.ReadAll(answer.Body)
	return answer.StatusCode, reply, err
}
