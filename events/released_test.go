package events_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"annals/events"
	"annals/events/eventstest"
)

// The released log has every kind of event that production logs may contain. When you
// release a new kind of event, or a new field, add events of it:
//
//	go test ./events -run TestReleasedLogNeverChanges -append $PWD/new.jsonl
//
// new.jsonl has lines as printed by annals events --json. Only the stream, type, data,
// and the schema and cause in the metadata are used. The events are appended through a
// Log. A digest in released.sums ensures that no line is ever changed.
var appendLines = flag.String("append", "", "add the events of this file to the released log")

const (
	releasedLog = "eventstest/released.jsonl"
	// releasedSums is a file with one line for each extension of the released log: the
	// number of lines of the log after the extension, and the SHA-256 of these lines.
	releasedSums = "eventstest/released.sums"
)

func TestReleasedLogNeverChanges(t *testing.T) {
	if *appendLines != "" {
		extendReleased(t, *appendLines)
	}
	log := readLines(t, releasedLog)
	sealed := 0
	for _, seal := range readLines(t, releasedSums) {
		before := sealed
		if _, err := fmt.Sscan(string(seal), &sealed); err != nil || sealed <= before || sealed > len(log) {
			t.Fatalf("%s: line %q does not fit a log of %d lines: %v", releasedSums, seal, len(log), err)
		}
		if got := sealOf(log[:sealed]); got != string(seal) {
			t.Errorf("the first %d lines have the digest %q, want %q: restore the changed line, because production logs contain such events", sealed, got, seal)
		}
	}
	if sealed != len(log) {
		t.Errorf("%d of %d lines of the released log are sealed: remove the others, and add them with `go test ./events -run TestReleasedLogNeverChanges -append $PWD/new.jsonl`", sealed, len(log))
	}
}

func readLines(t *testing.T, path string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(bytes.Lines(b))
}

func sealOf(lines [][]byte) string {
	return fmt.Sprintf("%d %x\n", len(lines), sha256.Sum256(bytes.Join(lines, nil)))
}

// restored returns a log in a new file that contains the released log, and the position
// of the last event.
func restored(t *testing.T) (*events.Log, events.Position) {
	t.Helper()
	driver := openDriver(t, filepath.Join(t.TempDir(), "log.db"))
	last := eventstest.AppendReleased(t, driver)
	log := events.NewLog(driver)
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log, last
}

// extendReleased appends the events in a file to the released log.
func extendReleased(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := eventstest.ParseLines(b)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	log, last := restored(t)
	for _, r := range fresh {
		e := events.Decode(r)
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		cause := events.Cause{Actor: e.Metadata.Actor, Via: e.Metadata.Via, Correlation: e.Metadata.Correlation, Causation: e.Metadata.Causation}
		if _, err := log.Append(t.Context(), r.Stream, events.AnyRevision, cause, events.New{Data: e.Data}); err != nil {
			t.Fatal(err)
		}
	}
	written, _, err := log.Records(t.Context(), last, len(fresh))
	if err != nil {
		t.Fatal(err)
	}
	lines := readLines(t, releasedLog)
	for _, r := range written {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, append(line, '\n'))
	}
	addTo(t, releasedLog, lines[len(lines)-len(written):]...)
	addTo(t, releasedSums, []byte(sealOf(lines)))
}

func addTo(t *testing.T, path string, lines ...[]byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(bytes.Join(lines, nil))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestReleasedLogIsReadable(t *testing.T) {
	log, last := restored(t)
	n, err := log.Verify(t.Context(), last, nil, func(problem string) { t.Error(problem) })
	if want := len(eventstest.Released(t)); err != nil || n != want {
		t.Fatalf("Verify = %d, %v, want %d events", n, err, want)
	}
	batch, _, err := log.Read(t.Context(), 0, n)
	if err != nil || len(batch) != n {
		t.Fatalf("Read: got %d events, %v, want %d", len(batch), err, n)
	}
	for i, r := range eventstest.Released(t) {
		e := batch[i]
		if e.ID != r.ID || e.Stream != r.Stream || e.Revision != r.Revision || e.Position != r.Position || e.Metadata.Time.IsZero() || e.Err != nil {
			t.Errorf("event %d of %s (%s) was read as %+v", r.Revision, r.Stream, r.Type, e)
			continue
		}
		if !slices.Contains(current(), events.Kind{Type: r.Type, Schema: e.Metadata.Schema}) {
			continue // an older version is only read and upgraded, never written again
		}
		if got, err := json.Marshal(e.Data); err != nil || !bytes.Equal(got, r.Data) {
			t.Errorf("event %d of %s is encoded as\n%s, %v, want\n%s", r.Revision, r.Stream, got, err, r.Data)
		}
	}
}

// TestReleasedLogHasEveryKind checks that the released log contains every kind, and for
// each kind every field that its payloads in testdata have.
func TestReleasedLogHasEveryKind(t *testing.T) {
	found := make(map[string]bool)
	for _, r := range eventstest.Released(t) {
		k := events.Kind{Type: r.Type, Schema: events.Decode(r).Metadata.Schema}
		for _, field := range fields(t, r.Data) {
			found[k.String()+" "+field] = true
		}
	}
	for _, k := range events.Kinds() {
		for _, payload := range goldens(t, k) {
			for _, field := range fields(t, payload) {
				if !found[k.String()+" "+field] {
					t.Errorf("the released log has no %s with the field %q: write events of it to new.jsonl, as printed by annals events --json, and run `go test ./events -run TestReleasedLogNeverChanges -append $PWD/new.jsonl`", k, field)
				}
			}
		}
	}
}

func fields(t *testing.T, payload []byte) (names []string) {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(payload, &all); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		names = append(names, name)
	}
	return names
}
