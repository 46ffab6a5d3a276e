package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/schema"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// golden returns the main payload of a kind in testdata. These files never change.
func golden(t testing.TB, k events.Kind) []byte {
	t.Helper()
	return readGolden(t, k.String()+".json")
}

// goldens returns all payloads of a kind in testdata: the main one, and those with
// fields that were added later, named Type.v1.field.json.
func goldens(t testing.TB, k events.Kind) [][]byte {
	t.Helper()
	all := [][]byte{golden(t, k)}
	names, err := fs.Glob(os.DirFS("testdata"), k.String()+".*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		all = append(all, readGolden(t, name))
	}
	return all
}

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatalf("add the missing golden payload: %v", err)
	}
	return b
}

// record returns a record of kind k with the payload data.
func record(k events.Kind, data []byte) events.Record {
	metadata, err := json.Marshal(events.Metadata{Actor: "user:alice", Schema: k.Schema})
	if err != nil {
		panic(err)
	}
	return events.Record{ID: uuid.New(), Stream: "document-1", Type: k.Type, Data: data, Metadata: metadata}
}

// compile compiles the embedded schema files and returns them by kind.
func compile(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	names, err := fs.Glob(schema.Events, "events/*.json")
	if err != nil {
		t.Fatal(err)
	}
	compiled := make(map[string]*jsonschema.Schema)
	for _, name := range names {
		b, err := schema.Events.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := c.AddResource(name, doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := c.Compile(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		compiled[strings.TrimSuffix(strings.TrimPrefix(name, "events/"), ".json")] = s
	}
	return compiled
}

func validate(s *jsonschema.Schema, data []byte) error {
	if s == nil {
		return errors.New("no JSON Schema")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestEventsAreComplete(t *testing.T) {
	kinds := make(map[string]bool)
	schemas := compile(t)
	for _, k := range events.Kinds() {
		kinds[k.String()] = true
		if schemas[k.String()] == nil {
			t.Errorf("%s has no JSON Schema: add schema/events/%[1]s.json", k)
		}
		if _, err := os.Stat("testdata/" + k.String() + ".json"); err != nil {
			t.Errorf("%s has no golden payload: add events/testdata/%[1]s.json, with every field", k)
		}
	}
	for name := range schemas {
		if !kinds[name] {
			t.Errorf("schema/events/%s.json belongs to no registered event: register it in its file in events", name)
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		parts := strings.SplitN(strings.TrimSuffix(f.Name(), ".json"), ".", 3)
		if name := strings.Join(parts[:min(2, len(parts))], "."); !f.IsDir() && !kinds[name] {
			t.Errorf("events/testdata/%s belongs to no registered event: register it in its file in events", f.Name())
		}
	}
}

// TestEveryEventIsRegistered searches the source of this package for event types. A Log
// can neither append nor read events of an unregistered type.
func TestEveryEventIsRegistered(t *testing.T) {
	registered := make(map[string]bool)
	for _, k := range events.Kinds() {
		registered[k.Type] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`(?m)^func \((?:\w+ )?(\w+)\) eventType\(\) string +\{ return "(\w+)" \}`)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range method.FindAllStringSubmatch(string(source), -1) {
			if found++; !registered[m[2]] {
				t.Errorf("%s is not registered: add register[%s](1) to init in events/%s", m[2], m[1], name)
			}
		}
	}
	if found != len(current()) && !t.Failed() {
		t.Errorf("%d event types are registered, but the regular expression of this test finds %d eventType methods", len(current()), found)
	}
}

// current returns the kind of the current schema version of each event type.
func current() []events.Kind {
	var last []events.Kind
	for _, k := range events.Kinds() {
		if n := len(last); n > 0 && last[n-1].Type == k.Type {
			last = last[:n-1]
		}
		last = append(last, k)
	}
	return last
}

func TestGoldenPayloads(t *testing.T) {
	schemas := compile(t)
	for _, k := range events.Kinds() {
		if schemas[k.String()] == nil {
			continue // reported by TestEventsAreComplete
		}
		for _, want := range goldens(t, k) {
			if err := validate(schemas[k.String()], want); err != nil {
				t.Errorf("golden %s: %v", k, err)
			}
			checkGolden(t, k, want)
		}
	}
}

// checkGolden decodes a payload and, if its version is current, encodes it again.
func checkGolden(t *testing.T, k events.Kind, want []byte) {
	t.Helper()
	e := events.Decode(record(k, want))
	if e.Err != nil {
		t.Errorf("golden %s: %v", k, e.Err)
		return
	}
	if got := events.TypeOf(e.Data); got != k.Type {
		t.Errorf("golden %s was decoded as %s", k, got)
	}
	if !slices.Contains(current(), k) {
		return // an older version is only read and upgraded, never written again
	}
	got, err := json.MarshalIndent(e.Data, "", "  ")
	if err != nil {
		t.Errorf("golden %s: %v", k, err)
	} else if string(got) != strings.TrimSpace(string(want)) {
		t.Errorf("golden %s is encoded as\n%s\nwant\n%s", k, got, want)
	}
}

// TestSchemasMatchStructs compares the properties and required properties of each
// schema with the fields of its struct.
func TestSchemasMatchStructs(t *testing.T) {
	schemas := compile(t)
	for _, k := range current() {
		e := events.Decode(record(k, golden(t, k)))
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		s := schemas[k.String()]
		if s == nil {
			continue // TestEventsAreComplete reports this
		}
		fields, required := jsonFields(reflect.TypeOf(e.Data))
		if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, fields) {
			t.Errorf("%s: the schema has properties %v, the struct %v", k, got, fields)
		}
		if got := slices.Sorted(slices.Values(s.Required)); !slices.Equal(got, required) {
			t.Errorf("%s: the schema requires %v, the struct always writes %v", k, got, required)
		}
		if allowed, ok := s.AdditionalProperties.(bool); !ok || allowed {
			t.Errorf("%s: the schema allows additional properties", k)
		}
		if s.Description == "" {
			t.Errorf("%s: the schema has no description", k)
		}
		for name, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s: the property %s of the schema has no description", k, name)
			}
		}
	}
}

func jsonFields(t reflect.Type) (all, required []string) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, name)
		if options == "" {
			required = append(required, name)
		}
	}
	slices.Sort(all)
	slices.Sort(required)
	return all, required
}

// TestPayloadsWithRequiredFieldsOnly decodes and encodes each event without its
// optional fields.
func TestPayloadsWithRequiredFieldsOnly(t *testing.T) {
	schemas := compile(t)
	for _, k := range current() {
		full := make(map[string]any)
		if err := json.Unmarshal(golden(t, k), &full); err != nil {
			t.Fatal(err)
		}
		s := schemas[k.String()]
		for name, p := range s.Properties {
			if !slices.Contains(s.Required, name) {
				delete(full, name)
			} else if p.Types != nil && slices.Contains(p.Types.ToStrings(), "null") {
				full[name] = nil
			}
		}
		minimal, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		e := events.Decode(record(k, minimal))
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		written, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(s, written); err != nil {
			t.Errorf("%s with required fields only, %s: %v", k, written, err)
		}
		var back map[string]any
		if err := json.Unmarshal(written, &back); err != nil || !reflect.DeepEqual(back, full) {
			t.Errorf("%s: decoded %s, encoded %s, %v", k, minimal, written, err)
		}
	}
}
