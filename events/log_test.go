package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

// TestLogWritesValidPayloads appends every kind of event through a Log, and checks
// the stored payloads and the decoded events.
func TestLogWritesValidPayloads(t *testing.T) {
	schemas := compile(t)
	driver := memory.New()
	log := events.NewLog(driver)
	defer log.Close()
	var want []events.Data
	for i, k := range current() {
		data := events.Decode(record(k, golden(t, k))).Data
		want = append(want, data)
		if _, err := log.Append(t.Context(), "document-1", int64(i-1), events.Cause{Actor: "user:alice"}, events.New{Data: data}); err != nil {
			t.Fatalf("Append(%s): %v", k, err)
		}
	}
	records, _, err := log.Records(t.Context(), 0, 1000)
	if err != nil || len(records) != len(want) {
		t.Fatalf("Records: got %d, %v, want %d", len(records), err, len(want))
	}
	for i, k := range current() {
		if err := validate(schemas[k.String()], records[i].Data); err != nil || records[i].Type != k.Type {
			t.Errorf("%s was stored as %s %s: %v", k, records[i].Type, records[i].Data, err)
		}
		if e := events.Decode(records[i]); e.Err != nil || !reflect.DeepEqual(e.Data, want[i]) || e.Metadata.Schema != k.Schema {
			t.Errorf("%s: got %+v, want %+v", k, e, want[i])
		}
	}
}

func TestLogWritesTimeAndCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1234567 * time.Nanosecond) // on the fake clock of synctest
		log := events.NewLog(memory.New())
		defer log.Close()
		cause := events.Cause{Actor: "user:alice", Via: "vault", Correlation: "r-1", Causation: "c-1"}
		id := uuid.New()
		_, err := log.Append(t.Context(), "document-1", events.NoStream, cause,
			events.New{ID: id, Data: events.DocumentDeleted{Version: 2}}, events.New{Data: events.DocumentDeleted{Version: 3}})
		if err != nil {
			t.Fatal(err)
		}
		batch, _, err := log.Read(t.Context(), 0, 10)
		if err != nil || len(batch) != 2 {
			t.Fatalf("Read: got %d events, %v", len(batch), err)
		}
		want := events.Metadata{
			Time: time.Now().UTC().Truncate(time.Microsecond), Schema: 1,
			Actor: "user:alice", Via: "vault", Correlation: "r-1", Causation: "c-1",
		}
		for _, e := range batch {
			if e.Metadata != want {
				t.Errorf("metadata: got %+v, want %+v", e.Metadata, want)
			}
		}
		if batch[0].ID != id || batch[1].ID == uuid.Nil || batch[1].ID == id {
			t.Errorf("ids: got %s and %s, want %s and another random one", batch[0].ID, batch[1].ID, id)
		}
	})
}

func TestUnreadableEventEndsReadStream(t *testing.T) {
	driver := memory.New()
	log := events.NewLog(driver)
	defer log.Close()
	if _, err := log.Append(t.Context(), "document-1", events.NoStream, events.Cause{}, events.New{Data: events.DocumentDeleted{Version: 2}}); err != nil {
		t.Fatal(err)
	}
	unknown := record(events.Kind{Type: "DocumentBurnt", Schema: 1}, []byte(`{}`))
	if _, err := driver.Append(t.Context(), "document-1", 0, []events.Record{unknown}); err != nil {
		t.Fatal(err)
	}
	read := 0
	err := log.ReadStream(t.Context(), "document-1", 0, func(events.Event) error { read++; return nil })
	if read != 1 || !errors.Is(err, events.ErrUnreadable) || !fault.Is(err, fault.Internal) {
		t.Errorf("ReadStream: got %d events and error %v, want 1 event and ErrUnreadable", read, err)
	}
	batch, _, err := log.Read(t.Context(), 0, 10)
	if err != nil || len(batch) != 2 || batch[0].Err != nil || batch[1].Err == nil {
		t.Errorf("Read: got %+v, %v, want two events, the second with Err", batch, err)
	}
}

func TestReadReturnsUnknownTypes(t *testing.T) {
	driver := memory.New()
	log := events.NewLog(driver)
	defer log.Close()
	for i, r := range []events.Record{
		record(events.Kind{Type: "DocumentDeleted", Schema: 1}, []byte(`{"version":2}`)),
		record(events.Kind{Type: "DocumentBurnt", Schema: 1}, []byte(`{}`)),
		record(events.Kind{Type: "FileStarted", Schema: 1}, []byte(`{"file":0}`)),
		record(events.Kind{Type: "FileStarted", Schema: 99}, []byte(`{"file":0}`)),
	} {
		if _, err := driver.Append(t.Context(), r.Stream, int64(i-1), []events.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	for want, types := range map[string][]string{
		"DocumentDeleted.v1 DocumentBurnt.v1!":                                 {"DocumentDeleted"},
		"DocumentBurnt.v1! FileStarted.v1 FileStarted.v99!":                    {"FileStarted", "FileStarted"},
		"DocumentBurnt.v1!":                                                    {"JobFinished"},
		"DocumentDeleted.v1 DocumentBurnt.v1! FileStarted.v1 FileStarted.v99!": nil,
	} {
		batch, _, err := log.Read(t.Context(), 0, 10, types...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range batch {
			name := events.Kind{Type: e.Type, Schema: e.Metadata.Schema}.String()
			if e.Err != nil {
				name += "!"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Read of %v: got %v, want %s", types, got, want)
		}
	}
}

func TestReadStreamPages(t *testing.T) {
	log := events.NewLog(memory.New())
	defer log.Close()
	const n = 1203
	news := make([]events.New, n)
	for i := range news {
		news[i].Data = events.FileStarted{File: i}
	}
	if _, err := log.Append(t.Context(), "job-1", events.NoStream, events.Cause{}, news...); err != nil {
		t.Fatal(err)
	}
	next := 7
	err := log.ReadStream(t.Context(), "job-1", 7, func(e events.Event) error {
		if e.Data != (events.FileStarted{File: next}) || e.Revision != int64(next) {
			return fmt.Errorf("got %+v, want file %d", e, next)
		}
		next++
		return nil
	})
	if err != nil || next != n {
		t.Errorf("ReadStream: got up to %d, %v, want %d", next, err, n)
	}
	stop := errors.New("enough")
	if err := log.ReadStream(t.Context(), "job-1", 0, func(events.Event) error { return stop }); err != stop {
		t.Errorf("ReadStream: got %v, want the error of fn", err)
	}
}

// readCounter counts calls of ReadStream.
type readCounter struct {
	events.Driver
	n int
}

func (d *readCounter) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	d.n++
	return d.Driver.ReadStream(ctx, stream, from, limit)
}

func TestReadStreamEndsAtPartialPage(t *testing.T) {
	driver := &readCounter{Driver: memory.New()}
	log := events.NewLog(driver)
	defer log.Close()
	large := events.New{Data: events.FileAccepted{Name: strings.Repeat("n", events.MaxAppendBytes/2)}}
	for n := range 12 {
		if _, err := log.Append(t.Context(), "job-large", int64(n-1), events.Cause{}, large); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(t.Context(), "job-small", events.NoStream, events.Cause{}, events.New{Data: events.FileStarted{}}); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]struct{ events, reads int }{"job-none": {0, 1}, "job-small": {1, 1}, "job-large": {12, 2}} {
		driver.n = 0
		got := 0
		err := log.ReadStream(t.Context(), stream, 0, func(events.Event) error { got++; return nil })
		if err != nil || got != want.events || driver.n != want.reads {
			t.Errorf("ReadStream of %s: %d events in %d reads, %v; want %d in %d", stream, got, driver.n, err, want.events, want.reads)
		}
	}
}

func TestComputedIDsDependOnAllArguments(t *testing.T) {
	job := uuid.MustParse("0b8f3c1e-7a52-4d0e-9c35-5f1d2a6b7c80")
	base := events.EventID("text-1", 3, job, 0, events.FileStarted{File: 1})
	if again := events.EventID("text-1", 3, job, 0, events.FileStarted{File: 1}); again != base {
		t.Errorf("EventID with equal arguments: got %s and %s", base, again)
	}
	for name, other := range map[string]uuid.UUID{
		"stream":   events.EventID("text-2", 3, job, 0, events.FileStarted{File: 1}),
		"revision": events.EventID("text-1", 4, job, 0, events.FileStarted{File: 1}),
		"job":      events.EventID("text-1", 3, uuid.New(), 0, events.FileStarted{File: 1}),
		"file":     events.EventID("text-1", 3, job, 1, events.FileStarted{File: 1}),
		"data":     events.EventID("text-1", 3, job, 0, events.FileStarted{File: 2}),
		"type":     events.EventID("text-1", 3, job, 0, events.FileStepped{File: 1}),
	} {
		if other == base {
			t.Errorf("EventID with another %s: got the same id", name)
		}
	}
	if a, b := events.DocumentID(job, "aa", 0), events.DocumentID(job, "aa", 1); a == b || a == events.DocumentID(uuid.New(), "aa", 0) {
		t.Error("DocumentID with another number or folder: got the same id")
	}
}

func TestStreamID(t *testing.T) {
	id := uuid.New()
	for _, name := range []string{events.DocumentStream(id), events.JobStream(id), events.TextStream(id, 12)} {
		if got := events.StreamID(name); got != id {
			t.Errorf("StreamID(%s): got %s, want %s", name, got, id)
		}
	}
	for _, name := range []string{"", events.Folders, "document-", "job-1234", "document-" + id.String()[:35] + "x"} {
		if got := events.StreamID(name); got != uuid.Nil {
			t.Errorf("StreamID(%s): got %s, want none", name, got)
		}
	}
}

// BenchmarkDecode decodes one event, as during a replay.
func BenchmarkDecode(b *testing.B) {
	r := record(events.Kind{Type: "DocumentRenamed", Schema: 1}, []byte(`{"version":12,"name":"Annual report, second draft.pdf"}`))
	b.Run("annals", func(b *testing.B) {
		for b.Loop() {
			if e := events.Decode(r); e.Err != nil {
				b.Fatal(e.Err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) { // decodes metadata and data by reflection
		for b.Loop() {
			var m events.Metadata
			var d events.DocumentRenamed
			if err := errors.Join(json.Unmarshal(r.Metadata, &m), json.Unmarshal(r.Data, &d)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestCloseClosesDriver(t *testing.T) {
	log := events.NewLog(memory.New())
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Head(context.Background()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Head after Close: got error %v", err)
	}
}
