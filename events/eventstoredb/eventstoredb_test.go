package eventstoredb_test

import (
	"os"
	"strings"
	"testing"

	"annals/events"
	"annals/events/eventstest"
	"annals/events/eventstoredb"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"

	"github.com/google/uuid"
)

// variable names a real server, by the URL that clients are given. It is used
// instead of the one in the test's own process, under a prefix of its own.
const variable = "ANNALS_TEST_EVENTSTOREDB"

// place returns the URL of an empty log.
func place(t *testing.T) string {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return esdbtest.Start(t, memory.New()).URL()
	}
	mark := "?"
	if strings.Contains(text, mark) {
		mark = "&"
	}
	return text + mark + "prefix=test-" + uuid.NewString() + "-"
}

func open(t testing.TB, url string) *eventstoredb.Driver {
	t.Helper()
	d, err := eventstoredb.Open(t.Context(), url)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

func TestDriver(t *testing.T) {
	eventstest.Run(t, func(t *testing.T) events.Driver { return open(t, place(t)) })
}

func TestSharedLog(t *testing.T) {
	eventstest.RunShared(t, func(t *testing.T) func() events.Driver {
		url := place(t)
		return func() events.Driver { return open(t, url) }
	})
}
