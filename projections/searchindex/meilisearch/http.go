package meilisearch

import (
	"context"
	"net/http"
	"time"
)

// maxReply is the maximum number of bytes that are read of one reply. The largest search
// reply is a third of that.
const maxReply = 64 << 20

// limits bound requests in time and size.
type limits struct {
	search  time.Duration // one search, with all its requests
	request time.Duration // one request, with its retries
	send    time.Duration // sending one task
	settle  time.Duration // waiting for a small task to end; the next call continues to wait
	task    int           // bytes of one task: Meilisearch processes a few large tasks faster than many small ones
}

var usual = limits{search: 5 * time.Second, request: 15 * time.Second, send: 2 * time.Minute, settle: 30 * time.Second, task: 10 << 20}

func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &http.Client{
		Transport:     bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // if the client followed a redirect, a POST would become a GET
	}
}

// bounded limits replies to maxReply bytes, more than Meilisearch ever sends.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxReply)
	}
	return resp, err
}

// pauses are the pauses between the attempts of one request.
var pauses = []time.Duration{50 * time.Millisecond, 500 * time.Millisecond}

// retry calls fn until it succeeds, fails with an error that is not transient, or has
// used up its attempts or its time.
func retry(ctx context.Context, within time.Duration, fn func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for i := 0; ; i++ {
		err := fn(limited)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || !transient(err) || limited.Err() != nil || i == len(pauses):
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

// retry is like the function retry. If the last attempt fails, it also starts probing the
// server.
func (s *server) retry(ctx context.Context, within time.Duration, fn func(context.Context) error) error {
	err := retry(ctx, within, fn)
	if transient(err) && ctx.Err() == nil {
		s.breaker.suspect()
	}
	return err
}

// read is like retry, for requests that only read. If there is no reply soon, the server
// is probed. A reply that the index is missing may have been sent before the index was
// created. So the request is repeated if the index was seen in the meantime.
func (x *index) read(ctx context.Context, fn func(context.Context) error) error {
	defer time.AfterFunc(slow, x.server.breaker.suspect).Stop()
	for {
		seen := x.seen.Load()
		err := x.server.retry(ctx, x.server.limits.request, fn)
		if !missing(err) || seen || !x.seen.Load() {
			return err
		}
	}
}
