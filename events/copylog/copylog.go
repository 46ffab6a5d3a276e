// Package copylog copies a log into another, of any engine, and proves the two
// equal. It imports events and events/fault only.
package copylog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
)

// Copy takes over what one log holds into another, in its order: ids, streams,
// revisions, types, data and metadata, byte for byte. Positions are the
// target's own.
//
// The target holds the beginning of the source, nothing else, at every moment:
// each append expects the revision that it has in the source, and is made when
// all before it are there. So a copy that was cut off anywhere goes on where
// the target ends, and several at once make one copy. Nothing is kept beside
// the two logs.
//
// Memory does not grow with them. A Copy is used by one goroutine.
type Copy struct {
	From, To events.Driver

	// Progress, unless nil, is called with the progress of a step, in positions
	// of the source.
	Progress func(step string, done, total int64)

	source, target side
	appended       int64
}

// The steps that Progress reports.
const (
	Comparing = "compare"
	Copying   = "copy"
)

// Result is what two logs hold. Without an error of Run or Follow that is the
// same.
type Result struct {
	From, To events.Digest
	Appended int64 // events that this Copy added to the target, or another at the same moment
}

// Run copies everything up to the source's head at the call, and then compares
// both logs. If the target holds anything that the source does not, the error is
// fault.Conflict and says what and where; if it did so before the call, nothing
// is added to it. The target may hold more of the source than this.
func (c *Copy) Run(ctx context.Context) (Result, error) {
	head, err := c.From.Head(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("read the head of the source: %w", err)
	}
	return c.reach(ctx, head)
}

// Follow copies after Run what is appended to the source, until ctx ends. It then
// copies, regardless of ctx, up to the source's head at that moment.
func (c *Copy) Follow(ctx context.Context) (Result, error) {
	whole := context.WithoutCancel(ctx)
	for {
		if err := c.From.Wait(ctx, c.source.at); err != nil && ctx.Err() == nil {
			return Result{}, fmt.Errorf("wait for the source: %w", err)
		}
		last := ctx.Err() != nil
		r, err := c.Run(whole)
		if err != nil || last {
			return r, err
		}
	}
}

// How often in a row, and how long, an unreachable engine is retried.
const (
	patience   = 8
	firstPause = 250 * time.Millisecond
)

// reach copies up to a position of the source. After an engine was unreachable, or
// another copy was faster, it continues where the target ends.
func (c *Copy) reach(ctx context.Context, head events.Position) (Result, error) {
	for tries, known := 0, c.source.count; ; tries++ {
		err := c.once(ctx, head)
		if err == nil {
			return Result{From: c.source.digest.Sum(), To: c.target.digest.Sum(), Appended: c.appended}, nil
		}
		if c.source.count > known {
			tries, known = 0, c.source.count
		}
		var foreign *foreignError
		away := fault.Is(err, fault.Unavailable)
		if tries == patience || !away && !fault.Is(err, fault.Conflict) || errors.As(err, &foreign) {
			return Result{}, err
		}
		if !away {
			continue
		}
		select {
		case <-time.After(firstPause << tries):
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
}

// once compares what the target holds, adds what it lacks, and compares that.
func (c *Copy) once(ctx context.Context, head events.Position) error {
	if err := c.compare(ctx, head); err != nil || c.source.at >= head {
		return err
	}
	if err := c.fill(ctx, head); err != nil {
		return err
	}
	err := c.compare(ctx, head)
	if err == nil && c.source.at < head {
		err = fault.Errorf(fault.Conflict, "the target ends after %d events, and lacks some that were appended to it", c.target.count)
	}
	return err
}

func (c *Copy) report(step string, done, head events.Position) {
	if c.Progress != nil {
		c.Progress(step, int64(min(done, head)), int64(head))
	}
}
