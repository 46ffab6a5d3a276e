package events

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"annals/events/fault"

	"github.com/google/uuid"
)

func TestDecodeErrors(t *testing.T) {
	good := Record{
		ID: uuid.New(), Stream: "document-1", Revision: 4, Position: 9, Type: "DocumentRenamed",
		Data: []byte(`{"version":2,"name":"n"}`), Metadata: []byte(`{"time":"2026-01-02T03:04:05.000006Z","schema":1}`),
	}
	if e := Decode(good); e.Err != nil || !reflect.DeepEqual(e.Data, DocumentRenamed{Version: 2, Name: "n"}) {
		t.Fatalf("Decode: got %+v", e)
	}
	for _, c := range []struct {
		name   string
		change func(*Record)
		want   string
	}{
		{"broken metadata", func(r *Record) { r.Metadata = []byte(`{"time":"yesterday","schema":1}`) }, "metadata of event 4 of document-1"},
		{"no metadata", func(r *Record) { r.Metadata = nil }, "metadata of event 4 of document-1"},
		{"an unknown type", func(r *Record) { r.Type = "DocumentBurnt" }, "DocumentBurnt.v1, which this version of Annals does not know"},
		{"a newer schema", func(r *Record) { r.Metadata = []byte(`{"time":"2026-01-02T03:04:05Z","schema":99}`) }, "DocumentRenamed.v99"},
		{"broken data", func(r *Record) { r.Data = []byte(`{"version":"two"}`) }, "event 4 of document-1 as DocumentRenamed.v1"},
		{"no data", func(r *Record) { r.Data = nil }, "event 4 of document-1 as DocumentRenamed.v1"},
	} {
		r := good
		c.change(&r)
		e := Decode(r)
		if e.Err == nil || !strings.Contains(e.Err.Error(), c.want) || !fault.Is(e.Err, fault.Internal) {
			t.Errorf("%s: got error %v, want one with %q", c.name, e.Err, c.want)
		}
		if e.Data != nil || e.Position != 9 || e.Stream != "document-1" || e.Revision != 4 || e.Type != r.Type {
			t.Errorf("%s: got %+v, want no data, and position, stream, revision and type", c.name, e)
		}
	}
}

func TestPlainMetadata(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, m := range []Metadata{
		{Time: now, Schema: 1},
		{Time: now, Actor: "user:alice", Via: "vault", Correlation: "r-1", Causation: "c-1", Schema: 12},
		{Time: now, Via: "importer", Causation: "c-1", Schema: 3},
	} {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := plainMetadata(string(b)); !ok || got != m {
			t.Errorf("plainMetadata(%s): got %+v, %t", b, got, ok)
		}
	}
}

// FuzzMetadata compares readMetadata with encoding/json.
func FuzzMetadata(f *testing.F) {
	for _, s := range []string{
		`{"time":"2026-01-02T03:04:05.000006Z","actor":"user:alice","via":"vault","correlation_id":"r","causation_id":"c","schema":1}`,
		`{"time":"2026-01-02T03:04:05Z","schema":12}`,
		`{"time":"2026-01-02T03:04:05+02:00","via":"a\u0062c","schema":2}`,
		`{"time":"2026-01-02T03:04:05Z","via":"Zürich","schema":007}`,
		`{"time":"2026-01-02t03:04:05,5Z","schema":1}`,
		`{"schema":1}`, `{`, ``, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, gotErr := readMetadata(b)
		var want Metadata
		wantErr := json.Unmarshal(b, &want)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("readMetadata(%q): got error %v, want %v", b, gotErr, wantErr)
		}
		if wantErr == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("readMetadata(%q): got %+v, want %+v", b, got, want)
		}
	})
}

// FuzzDecode checks that Decode returns data or an error for any bytes, and that
// decoded data survives encoding and decoding again.
func FuzzDecode(f *testing.F) {
	f.Add("DocumentRenamed", []byte(`{"version":2,"name":"n"}`), []byte(`{"time":"2026-01-02T03:04:05Z","schema":1}`))
	f.Add("SectionExtracted", []byte(`{"index":0,"level":1,"page_breaks":[3],"text":"a\u0000b"}`), []byte(`{"schema":1}`))
	f.Add("FolderShared", []byte(`{"folder":"5a6f0c9d-3e41-4b7a-8f16-2c9d0e1b3a47","permissions":null}`), []byte(`{"schema":1}`))
	f.Add("FolderCreated", []byte(`{"folder":"nowhere"}`), []byte(`{"schema":-1}`))
	f.Fuzz(func(t *testing.T, name string, data, metadata []byte) {
		r := Record{Stream: "s", Type: name, Data: data, Metadata: metadata}
		e := Decode(r)
		if (e.Err == nil) == (e.Data == nil) {
			t.Fatalf("Decode(%s %q): got data %v with error %v", name, data, e.Data, e.Err)
		}
		if e.Err != nil {
			return
		}
		again, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatalf("Decode(%s %q) cannot be encoded: %v", name, data, err)
		}
		r.Type, r.Data = TypeOf(e.Data), again
		if b := Decode(r); b.Err != nil {
			t.Fatalf("Decode(%s %q) was encoded as %s, which cannot be decoded: %v", name, data, again, b.Err)
		} else if back, err := json.Marshal(b.Data); err != nil || string(back) != string(again) {
			t.Fatalf("Decode(%s %q) was encoded as %s, and after decoding as %s, %v", name, data, again, back, err)
		}
	})
}

func TestDecodeAllKeepsOrder(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 1000} {
		records := make([]Record, n)
		for i := range records {
			records[i] = Record{
				Revision: int64(i), Type: "FileStarted", Data: []byte(`{"file":1}`),
				Metadata: []byte(`{"time":"2026-01-02T03:04:05Z","schema":1}`),
			}
		}
		batch := decodeAll(records)
		if len(batch) != n {
			t.Fatalf("decodeAll of %d records: got %d events", n, len(batch))
		}
		for i, e := range batch {
			if e.Err != nil || e.Revision != int64(i) || e.Data != (FileStarted{File: 1}) {
				t.Fatalf("event %d of %d: got %+v", i, n, e)
			}
		}
	}
}
