package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"annals/events"
)

const (
	// memoryGoal is how much memory the Go heap may take before garbage is
	// collected more often; GOMEMLIMIT overrides it.
	memoryGoal = 384 << 20
	// quietTime without an event comes before memory is given back. The read
	// models empty their caches a little earlier.
	quietTime = 25 * time.Second
)

func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
}

// giveBackMemory returns to the system, whenever an import has ended, what it
// took. Go does so by itself, but keeps for long what it may need again.
func giveBackMemory(ctx context.Context, log *events.Log) {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	var seen, given events.Position
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		head, err := log.Head(ctx)
		if err != nil {
			continue // those who need the log tell
		}
		if head == seen && head != given {
			debug.FreeOSMemory()
			given = head
		}
		seen = head
	}
}
