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

// variable is the environment variable with the URL of a real server. If it is set, the
// tests use that server instead of esdbtest, each test with its own prefix.
const variable = "ANNALS_TEST_EVENTSTOREDB"

// emptyLog returns the URL of an empty log.
func emptyLog(t *testing.T) string {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return esdbtest.Start(t, memory.New()).URL()
	}
	separator := "?"
	if strings.Contains(text, separator) {
		separator = "&"
	}
	return text + separator + "prefix=test-" + uuid.NewString() + "-"
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
	eventstest.Run(t, func(t *testing.T) events.Driver { return open(t, emptyLog(t)) })
}

func TestSharedLog(t *testing.T) {
	eventstest.RunShared(t, func(t *testing.T) func() events.Driver {
		url := emptyLog(t)
		return func() events.Driver { return open(t, url) }
	})
}
