package service

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"annals/events"
)

const (
	// memoryLimit is the size of the Go heap beyond which garbage is collected more
	// often; GOMEMLIMIT overrides it.
	memoryLimit = 384 << 20
	// idleTime is the time without an event after which memory is released. The read
	// models empty their caches a little earlier.
	idleTime = 25 * time.Second
)

// LimitMemory bounds the memory that the process keeps, unless GOMEMLIMIT is set.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// releaseMemory returns memory to the system after each import, until ctx ends. Go
// does so by itself, but much later.
func releaseMemory(ctx context.Context, log *events.Log) {
	tick := time.NewTicker(idleTime)
	defer tick.Stop()
	var seen, released events.Position
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		head, err := log.Head(ctx)
		if err != nil {
			continue // reported by what needs the log
		}
		if head == seen && head != released {
			debug.FreeOSMemory()
			released = head
		}
		seen = head
	}
}
