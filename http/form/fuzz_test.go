package form

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"annals/http/problem"

	"github.com/google/uuid"
)

var seeds = []string{
	`{"query":"a","folder_name":null,"tags":["x"],"tag_mode":"any"}`, `{"query":1,"tags":[1,null],"tag_mode":{}}`, `[{"folder_name":"A/B","tags":["x"]},{}]`,
	`{`, `[1,]`, `{"a" 1}`, `"\u12"`, `"\x"`, "\"\x01\"", `-`, `01`, `1.`, `1e5`, `[[[[`, `null`, ``, "\xff", "\xef\xbb\xbf{}", `{"a":1}{`, `{"ids":["00000000-0000-0000-0000-000000000000"]}`,
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
}

// JSONFault finds an error if and only if DecodeJSON refuses the text. Its position lies
// within the text.
func FuzzJSONFault(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			t.Skip()
		}
		_, err := DecodeJSON(text)
		finder := jsonFinder{text: []rune(string(text))}
		end, ok := finder.value(finder.space(0), 0)
		ok = ok && finder.space(end) == len(finder.text)
		if ok != (err == nil) {
			t.Fatalf("%q: DecodeJSON = %v, but the finder reports %v %q", text, err, ok, finder.why)
		}
		if position, why := JSONFault(text); err != nil && (why == "" || position < 0 || position > utf8.RuneCount(text)) {
			t.Fatalf("JSONFault(%q) = %d, %q", text, position, why)
		}
	})
}

// Every body is either a valid search or refused with an error that can be encoded as JSON.
func FuzzSearchBody(f *testing.F) {
	addSeeds(f)
	const length, maxTags = 1000, 64
	f.Fuzz(func(t *testing.T, text []byte) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(string(text)))
		r.Header.Set("Content-Type", "application/json")
		var found problem.Fields
		o, err := ReadObject(r, 1<<20, &found)
		if err == nil {
			o.Text("query", length)
			o.OptionalText("folder_name")
			if tags := o.Texts("tags", maxTags, false); len(tags) > maxTags {
				t.Fatalf("%d tags", len(tags))
			}
			if mode := o.OneOf("tag_mode", "all", "any"); mode != "all" && mode != "any" {
				t.Fatalf("tag mode %q", mode)
			}
			err = found.Err()
		}
		if err == nil {
			return
		}
		w := httptest.NewRecorder()
		problem.Core.Fail(w, err)
		if (w.Code != 422 && w.Code != 400) || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%q: %d %s", text, w.Code, w.Body)
		}
	})
}

// Each method of Fields either refuses a field or returns a value of its type.
func FuzzFields(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(`{"name":"a","folderId":null,"tags":["x"],"version":1e2,"permissions":[{"principal":"user:a","access":"own"},{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := ParseFields(text, "application/json")
		if err != nil {
			return
		}
		name, id, tags := in.Text("name"), in.OptionalID("folderId", false), in.Texts("tags", 10)
		version, given := in.Version()
		var access []string
		for _, p := range in.Objects("permissions", 10) {
			access = append(access, p.OneOf("access", "read"))
		}
		if in.Err() != nil {
			return
		}
		if name == "" || id != nil && *id == uuid.Nil || len(tags) > 10 || given != (version > 0) || strings.Trim(strings.Join(access, ""), "read") != "" {
			t.Fatalf("%q %v %q %d %q", name, id, tags, version, access)
		}
	})
}
