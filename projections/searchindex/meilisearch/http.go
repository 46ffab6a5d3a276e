package meilisearch

import (
	"context"
	"net/http"
	"time"
)

// maxReply bounds what is read of one answer: that to the largest search takes
// a third of it.
const maxReply = 64 << 20

// limits bound what is waited for, and what is sent at once.
type limits struct {
	search time.Duration // for all answers that a search takes: somebody waits for it
	ask    time.Duration // for one answer, with the tries that it takes
	send   time.Duration // until one task is sent
	settle time.Duration // for a task that carries little, before the next try goes on waiting
	task   int           // bytes: Meilisearch takes few large tasks faster than many
}

var usual = limits{search: 5 * time.Second, ask: 15 * time.Second, send: 2 * time.Minute, settle: 30 * time.Second, task: 10 << 20}

func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &http.Client{
		Transport:     bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // with it a POST would become a GET
	}
}

// bounded cuts answers off that are longer than any of Meilisearch's.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxReply)
	}
	return resp, err
}

// pauses are those between tries.
var pauses = []time.Duration{50 * time.Millisecond, 500 * time.Millisecond}

// try calls fn, which may be repeated, until it succeeds, fails for good, or
// was tried often enough within a time.
func try(ctx context.Context, within time.Duration, fn func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for i := 0; ; i++ {
		err := fn(limited)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || !passes(err) || limited.Err() != nil || i == len(pauses):
			return err
		}
		if sleep(limited, pauses[i]) != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try is try; where that is in vain the server may be away.
func (s *Server) try(ctx context.Context, within time.Duration, fn func(context.Context) error) error {
	err := try(ctx, within, fn)
	if passes(err) && ctx.Err() == nil {
		s.door.suspect()
	}
	return err
}

// ask is try for what is read, whose answer comes soon from a server that is
// there. That the index is missing may be said of the time before it was made.
func (x *Index) ask(ctx context.Context, fn func(context.Context) error) error {
	defer time.AfterFunc(slow, x.server.door.suspect).Stop()
	for {
		seen := x.seen.Load()
		err := x.server.try(ctx, x.server.limits.ask, fn)
		if !missing(err) || seen || !x.seen.Load() {
			return err
		}
	}
}
