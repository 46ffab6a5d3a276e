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

// proxy sends requests to the ready nodes in turn. It does not retry failed requests.
type proxy struct {
	nodes  *nodes
	client *http.Client

	mu        sync.Mutex
	addresses []string
	ready     []bool
	requests  []int
	next      int
}

// newProxy starts a proxy that polls the readiness of all nodes ten times per second.
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

// await waits until the proxy sends requests to node i.
func (p *proxy) await(i int) {
	p.nodes.Helper()
	p.nodes.await("the proxy sends requests to a node", func() (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ready[i], "it is not ready"
	})
}

// served returns the number of requests that each node got.
func (p *proxy) served() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// request sends a request to the next ready node.
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
