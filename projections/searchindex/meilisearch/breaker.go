package meilisearch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// slow is how long a reply may take before the server is probed.
	slow = time.Second
	// probeWithin bounds one probe, with its retries.
	probeWithin = 3 * time.Second
	// Pauses between probes double from firstPause to lastPause.
	firstPause = 250 * time.Millisecond
	lastPause  = 2 * time.Second
)

// breaker is a circuit breaker: while the server does not respond, searches fail
// immediately instead of waiting for it. After a slow or failed request, one goroutine
// probes the server until the server responds. The first failed probe opens the breaker.
// A slow search alone does not open it.
type breaker struct {
	probe func(context.Context) error

	life context.Context // ends with close
	end  context.CancelFunc
	work sync.WaitGroup

	mu        sync.Mutex
	probing   chan struct{}   // closed when the server responds; nil while the server is not probed
	reachable context.Context // ends when the breaker opens, with an error of kind fault.Unavailable
	open      context.CancelCauseFunc
}

func newBreaker(probe func(context.Context) error) *breaker {
	b := &breaker{probe: probe}
	b.life, b.end = context.WithCancel(context.Background())
	b.reachable, b.open = context.WithCancelCause(b.life)
	return b
}

// close ends the probes and waits for their goroutine.
func (b *breaker) close() {
	b.mu.Lock()
	b.end()
	b.mu.Unlock()
	b.work.Wait()
}

// unreachable returns an error if the breaker is open.
func (b *breaker) unreachable() error { return context.Cause(b.state()) }

func (b *breaker) state() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reachable
}

// do runs a search unless the breaker is open, and cancels the search if the breaker
// opens in the meantime.
func (b *breaker) do(ctx context.Context, within time.Duration, search func(context.Context) error) error {
	reachable := b.state()
	if reachable.Err() != nil {
		return context.Cause(reachable)
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer context.AfterFunc(reachable, cancel)()
	err := search(limited)
	if err != nil && reachable.Err() != nil && ctx.Err() == nil {
		return context.Cause(reachable)
	}
	return err
}

// suspect starts probing the server, unless a probe is already running.
func (b *breaker) suspect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probing == nil && b.life.Err() == nil {
		b.probing = make(chan struct{})
		b.work.Go(b.probeUntilReachable)
	}
}

func (b *breaker) probeUntilReachable() {
	_, _ = backoff.Retry(b.life, func() (struct{}, error) { // fails only when life ends
		err := retry(b.life, probeWithin, b.probe)
		switch {
		case b.life.Err() != nil:
			return struct{}{}, b.life.Err()
		case !transient(err): // an error response shows that the server is reachable
			b.reset()
			return struct{}{}, nil
		}
		b.open(classify(fmt.Errorf("probe the server: %w", err)))
		return struct{}{}, err
	}, backoff.WithBackOff(doubling(firstPause, lastPause)), backoff.WithMaxElapsedTime(0))
}

// doubling returns pauses that double from first to last.
func doubling(first, last time.Duration) backoff.BackOff {
	return &backoff.ExponentialBackOff{InitialInterval: first, Multiplier: 2, MaxInterval: last}
}

// reset closes the breaker: searches are sent to the server again.
func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reachable.Err() != nil {
		b.reachable, b.open = context.WithCancelCause(b.life)
	}
	close(b.probing)
	b.probing = nil
}
