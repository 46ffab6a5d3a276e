package service

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"annals/events"
)

const (
	// memoryLimit is the soft memory limit of the Go runtime; GOMEMLIMIT overrides it.
	memoryLimit = 384 << 20
	// idleTime is the time without new events after which the server releases memory.
	// It is a little longer than the time after which the read models empty their
	// caches.
	idleTime = 25 * time.Second
)

// LimitMemory sets the soft memory limit of the process, unless GOMEMLIMIT is set.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// releaseMemory returns unused memory to the operating system each time the log has had
// no new event for idleTime, until ctx ends. The Go runtime alone would return it much
// later.
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
			continue // other parts of the server report this error
		}
		if head == seen && head != released {
			debug.FreeOSMemory()
			released = head
		}
		seen = head
	}
}
