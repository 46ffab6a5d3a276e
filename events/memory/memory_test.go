package memory_test

import (
	"testing"

	"annals/events"
	"annals/events/eventstest"
	"annals/events/memory"
)

func TestDriver(t *testing.T) {
	eventstest.Run(t, func(*testing.T) events.Driver { return memory.New() })
}
