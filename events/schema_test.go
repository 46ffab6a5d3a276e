package events_test

import (
	"bytes"
	"encoding/json"
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

// golden returns the payload that stands for a kind for ever.
func golden(t testing.TB, k events.Kind) []byte {
	t.Helper()
	return readGolden(t, k.String()+".json")
}

// goldens returns that payload, and those that stand beside it for fields
// that the kind got later: Type.v1.what.json.
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
		t.Fatalf("a golden payload is missing, add it: %v", err)
	}
	return b
}

// record returns a stored event of a kind.
func record(k events.Kind, data []byte) events.Record {
	metadata, err := json.Marshal(events.Metadata{Actor: "user:alice", Schema: k.Schema})
	if err != nil {
		panic(err)
	}
	return events.Record{ID: uuid.New(), Stream: "document-1", Type: k.Type, Data: data, Metadata: metadata}
}

// compile returns the schema of every kind, from the embedded files.
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
			t.Errorf("schema/events/%s.json is of an event that cannot be read: register it in its file in events", name)
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		parts := strings.SplitN(strings.TrimSuffix(f.Name(), ".json"), ".", 3)
		if name := strings.Join(parts[:min(2, len(parts))], "."); !f.IsDir() && !kinds[name] {
			t.Errorf("events/testdata/%s is of an event that cannot be read: register it in its file in events", f.Name())
		}
	}
}

// TestEveryEventIsRegistered reads this package's source: an event that is not
// registered could be appended, and never read.
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
		t.Errorf("%d types of events are registered, and %d have a method eventType of the form that this test knows", len(current()), found)
	}
}

// current returns the kinds that are written today: the last of each type.
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
			continue // TestEventsAreComplete says so
		}
		for _, want := range goldens(t, k) {
			if err := validate(schemas[k.String()], want); err != nil {
				t.Errorf("golden %s: %v", k, err)
			}
			checkGolden(t, k, want)
		}
	}
}

// checkGolden reads a payload and, if it is of today's form, writes it back.
func checkGolden(t *testing.T, k events.Kind, want []byte) {
	t.Helper()
	e := events.Decode(record(k, want))
	if e.Err != nil {
		t.Errorf("golden %s: %v", k, e.Err)
		return
	}
	if got := events.TypeOf(e.Data); got != k.Type {
		t.Errorf("golden %s was read as %s", k, got)
	}
	if !slices.Contains(current(), k) {
		return // an older version is upgraded; it is never written again
	}
	got, err := json.MarshalIndent(e.Data, "", "  ")
	if err != nil {
		t.Errorf("golden %s: %v", k, err)
	} else if string(got) != strings.TrimSpace(string(want)) {
		t.Errorf("golden %s was written back as\n%s\nwant\n%s", k, got, want)
	}
}

// TestSchemasMatchStructs holds each schema's properties and
// required ones together with the struct that is written.
func TestSchemasMatchStructs(t *testing.T) {
	schemas := compile(t)
	for _, k := range current() {
		e := events.Decode(record(k, golden(t, k)))
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		s := schemas[k.String()]
		fields, required := jsonFields(reflect.TypeOf(e.Data))
		if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, fields) {
			t.Errorf("%s: the schema has properties %v, the struct %v", k, got, fields)
		}
		if got := slices.Sorted(slices.Values(s.Required)); !slices.Equal(got, required) {
			t.Errorf("%s: the schema requires %v, the struct always writes %v", k, got, required)
		}
		if no, ok := s.AdditionalProperties.(bool); !ok || no {
			t.Errorf("%s: the schema allows other properties", k)
		}
		if s.Description == "" {
			t.Errorf("%s: the schema does not say what happened", k)
		}
		for name, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s: the schema does not say what %s is", k, name)
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

// TestPayloadsWithRequiredFieldsOnly writes each event with nothing but what is always
// there.
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
		least, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		e := events.Decode(record(k, least))
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		written, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(s, written); err != nil {
			t.Errorf("%s with what is always there, %s: %v", k, written, err)
		}
		var back map[string]any
		if err := json.Unmarshal(written, &back); err != nil || !reflect.DeepEqual(back, full) {
			t.Errorf("%s: read %s, wrote %s, %v", k, least, written, err)
		}
	}
}
