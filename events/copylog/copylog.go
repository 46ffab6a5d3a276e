// Package copylog copies a log to another log, also in another engine, and verifies that
// both logs are equal. It imports events and events/fault only.
package copylog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
)

// Copy copies the events of a log to another log in order, with their ids, streams,
// revisions, types, data and metadata. Positions may differ.
//
// At any time the target equals the beginning of the source: events are appended in
// order, at the revisions that they have in the source. Therefore an interrupted copy
// continues where the target ends, and concurrent copies do not conflict. No state is
// stored besides the two logs.
//
// Memory use does not depend on the size of the logs. A Copy must not be used
// concurrently.
type Copy struct {
	From, To events.Driver

	// Progress, unless nil, is called during each step. done and total are positions of
	// the source.
	Progress func(step string, done, total int64)

	source, target side
	appended       int64
}

// The steps that Progress reports.
const (
	stepCompare = "compare"
	stepCopy    = "copy"
)

// Result contains the digests of the two logs. If Run and Follow return no error, the
// digests are equal.
type Result struct {
	From, To events.Digest
	Appended int64 // events appended to the target, including those that a concurrent Copy appended first
}

// Run copies the source up to its head when Run is called, and then compares both logs.
// If the target differs from the source, the error is fault.Conflict and names the first
// difference. If it differs already before the copy begins, nothing is appended. The
// target may already have later events of the source.
func (c *Copy) Run(ctx context.Context) (Result, error) {
	head, err := c.From.Head(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("read the head of the source: %w", err)
	}
	return c.copyTo(ctx, head)
}

// Follow is called after Run. It copies new events of the source until ctx ends. It then
// also copies the events up to the head that the source has at that time.
func (c *Copy) Follow(ctx context.Context) (Result, error) {
	uncancelled := context.WithoutCancel(ctx)
	for {
		if err := c.From.Wait(ctx, c.source.at); err != nil && ctx.Err() == nil {
			return Result{}, fmt.Errorf("wait for the source: %w", err)
		}
		last := ctx.Err() != nil
		r, err := c.Run(uncancelled)
		if err != nil || last {
			return r, err
		}
	}
}

// Limits of retries without progress, for example while an engine is unreachable.
const (
	maxRetries = 8
	firstPause = 250 * time.Millisecond
)

// copyTo copies the source up to position head. After a failed attempt, because an
// engine was unreachable or a concurrent copy was faster, it continues where the target
// ends.
func (c *Copy) copyTo(ctx context.Context, head events.Position) (Result, error) {
	for tries, known := 0, c.source.count; ; tries++ {
		err := c.attempt(ctx, head)
		if err == nil {
			return Result{From: c.source.digest.Sum(), To: c.target.digest.Sum(), Appended: c.appended}, nil
		}
		if c.source.count > known {
			tries, known = 0, c.source.count
		}
		var foreign *foreignError
		unavailable := fault.Is(err, fault.Unavailable)
		if tries == maxRetries || !unavailable && !fault.Is(err, fault.Conflict) || errors.As(err, &foreign) {
			return Result{}, err
		}
		if !unavailable {
			continue
		}
		select {
		case <-time.After(firstPause << tries):
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
}

// attempt compares the target with the source, appends the missing events to the target,
// and compares the appended events.
func (c *Copy) attempt(ctx context.Context, head events.Position) error {
	if err := c.compare(ctx, head); err != nil || c.source.at >= head {
		return err
	}
	if err := c.fill(ctx, head); err != nil {
		return err
	}
	err := c.compare(ctx, head)
	if err == nil && c.source.at < head {
		err = fault.Errorf(fault.Conflict, "the target ends after %d events, and lacks events that were just appended to it", c.target.count)
	}
	return err
}

func (c *Copy) report(step string, done, head events.Position) {
	if c.Progress != nil {
		c.Progress(step, int64(min(done, head)), int64(head))
	}
}
