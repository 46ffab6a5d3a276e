package admin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/schema"

	"pgregory.net/rapid"
)

// propertiesOf returns the fields that the schema of a released form of an event has.
func propertiesOf(t *testing.T, kind string) []string {
	t.Helper()
	text, err := fs.ReadFile(schema.Events, "events/"+kind+".json")
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Properties map[string]any }
	if err := json.Unmarshal(text, &s); err != nil || len(s.Properties) == 0 {
		t.Fatalf("%s: %d properties, %v", kind, len(s.Properties), err)
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// Somebody has decided for each field of each type of event whether administrators see it.
func TestEveryFieldIsClassified(t *testing.T) {
	all := map[string]map[string]bool{}
	for _, kind := range events.Kinds() {
		if all[kind.Type] == nil {
			all[kind.Type] = map[string]bool{}
		}
		for _, field := range propertiesOf(t, kind.String()) {
			all[kind.Type][field] = true
		}
	}
	for name, has := range all {
		of, known := types[name]
		if !known {
			t.Errorf("http/admin/words.go does not say which fields of %s have words of a document", name)
			continue
		}
		said := append(strings.Fields(of.told), strings.Fields(of.words)...)
		slices.Sort(said)
		if want := slices.Sorted(maps.Keys(has)); !slices.Equal(said, want) {
			t.Errorf("http/admin/words.go classifies the fields %v of %s, which has %v", said, name, want)
		}
	}
	for name := range types {
		if all[name] == nil {
			t.Errorf("http/admin/words.go has the type %s, which does not exist", name)
		}
	}
}

// secret is a word that stands in values of fields in place of words of a document.
const secret = "zanzibar"

// poisoned returns a payload of all fields that a released form of an event may have, and further
// ones that a later version may have, with the secret wherever a text can be.
func poisoned(r *rapid.T, payload map[string]any, more int) map[string]any {
	var poison func(v any) any
	poison = func(v any) any {
		switch v := v.(type) {
		case string:
			return rapid.SampledFrom([]string{secret, "a " + secret, strings.ToUpper(secret[:1]) + secret}).Draw(r, "text")
		case []any:
			for i := range v {
				v[i] = poison(v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = poison(v[name])
			}
		}
		return v
	}
	for i := range more {
		payload[fmt.Sprint("later", i)] = map[string]any{"text": []any{secret}}
	}
	return poison(payload).(map[string]any)
}

// No word of a document is told of any event, whatever a payload has in the fields that may have
// some, and what is told is as it was recorded.
func TestNoWordsOfDocumentsAreTold(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom(append(events.Kinds(), events.Kind{Type: "DocumentSummarised", Schema: 1})).Draw(r, "kind")
		files, err := filepath.Glob("../../events/testdata/" + kind.String() + "*.json")
		if err != nil {
			r.Fatal(err)
		}
		payload := map[string]any{"title": ""}
		if len(files) > 0 {
			text, err := os.ReadFile(rapid.SampledFrom(files).Draw(r, "file"))
			if err != nil {
				r.Fatal(err)
			}
			if err := json.Unmarshal(text, &payload); err != nil {
				r.Fatal(err)
			}
		}
		plain, err := json.Marshal(payload)
		if err != nil {
			r.Fatal(err)
		}
		told := strings.Fields(types[kind.Type].told)
		words := poisoned(r, payload, rapid.IntRange(0, 2).Draw(r, "later fields"))
		var recorded map[string]any
		if err := json.Unmarshal(plain, &recorded); err != nil {
			r.Fatal(err)
		}
		for _, name := range told { // what is told has no words: see TestEveryFieldIsClassified
			if value, ok := recorded[name]; ok {
				words[name] = value
			}
		}
		data, err := json.Marshal(words)
		if err != nil {
			r.Fatal(err)
		}
		e := eventOf(events.Record{Type: kind.Type, Stream: "document-1", Data: data, Metadata: []byte("{}")})
		body, err := json.Marshal(e)
		if err != nil {
			r.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(body)), secret) {
			r.Fatalf("%s tells %s", kind, body)
		}
		var shown map[string]any
		if err := json.Unmarshal(e.Data, &shown); err != nil {
			r.Fatal(err)
		}
		for name, value := range shown {
			if fmt.Sprint(value) != fmt.Sprint(recorded[name]) || !slices.Contains(told, name) {
				r.Fatalf("%s tells %s = %v", kind, name, value)
			}
		}
		for name := range words {
			if complete := slices.Contains(told, name); !complete && e.Withheld == nil {
				r.Fatalf("%s is without %s, and does not say so: %s", kind, name, body)
			}
		}
	})
}
