package http

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"annals/commands"
	"annals/events"
	"annals/events/fault"
	"annals/queries"

	"github.com/google/uuid"
)

var jsonSeeds = []string{
	`{"query":"a","folder_name":null,"tags":["x"],"tag_mode":"any"}`, `{"query":1,"tags":[1,null],"tag_mode":{}}`, `[{"folder_name":"A/B","tags":["x"]},{}]`,
	`{`, `[1,]`, `{"a" 1}`, `"\u12"`, `"\x"`, "\"\x01\"", `-`, `01`, `1.`, `1e5`, `[[[[`, `null`, ``, "\xff", "\xef\xbb\xbf{}", `{"a":1}{`, `{"ids":["00000000-0000-0000-0000-000000000000"]}`,
}

func addSeeds(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
}

// A text is refused by the decoder exactly where the finder finds a fault, and
// the place it names is in the text.
func FuzzJSONFault(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			t.Skip()
		}
		_, err := decodeJSON(text)
		finder := jsonFinder{text: []rune(string(text))}
		end, ok := finder.value(finder.space(0), 0)
		ok = ok && finder.space(end) == len(finder.text)
		if ok != (err == nil) {
			t.Fatalf("%q: the decoder says %v, the finder %v %q", text, err, ok, finder.why)
		}
		if position, why := jsonFault(text); err != nil && (why == "" || position < 0 || position > utf8.RuneCount(text)) {
			t.Fatalf("%q: %q at %d", text, why, position)
		}
	})
}

// Whatever a body holds, it is a search or a fault that can be told.
func FuzzSearchBody(f *testing.F) {
	addSeeds(f)
	s := &Server{Limits: Limits{}.WithDefaults()}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(string(text)))
		r.Header.Set("Content-Type", "application/json")
		var found faults
		o, err := s.readObject(r, &found)
		if err == nil {
			o.text("query", s.Limits.QueryLength)
			o.optionalText("folder_name")
			if tags := o.texts("tags", s.Limits.Tags, false); len(tags) > s.Limits.Tags {
				t.Fatalf("%d tags", len(tags))
			}
			if mode := o.oneOf("tag_mode", "all", "any"); mode != "all" && mode != "any" {
				t.Fatalf("tag mode %q", mode)
			}
			err = found.err()
		}
		if err == nil {
			return
		}
		w := httptest.NewRecorder()
		coreDialect.fail(w, err)
		if (w.Code != 422 && w.Code != 400) || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%q: %d %s", text, w.Code, w.Body)
		}
	})
}

// Whatever file_metadata holds, its entries are folders and tags as they are
// kept, or there are faults that can be told.
func FuzzMetadata(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var found faults
		entries := readEntries(text, 5, "Inbox/alice", &found)
		if len(entries) > 6 {
			t.Fatalf("%d entries", len(entries))
		}
		if len(found) > 0 {
			if _, err := json.Marshal(coreDialect.fault(422, "", found.err())); err != nil {
				t.Fatal(err)
			}
			return
		}
		for _, e := range entries {
			if kept, err := commands.NormalizeFolder(e.folder); err != nil || kept != e.folder {
				t.Fatalf("folder %q: %v", e.folder, err)
			}
		}
	})
}

// Whatever a client calls a file, it becomes one name that can be kept.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{"a.md", `C:\x\a.pdf`, "../../etc/passwd", "", ".", "a/", "e\u0301.txt", "\u202egnp.exe", "\xff.txt", strings.Repeat("é", 200) + ".docx", " \t.md", strings.Repeat("x", 254) + " ."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, given string) {
		name, _ := fileName(given)
		if strings.ContainsAny(name, `/\`) || len(name) > maxFileName || !utf8.ValidString(name) {
			t.Fatalf("%q becomes %q", given, name)
		}
		if _, err := commands.NormalizeFolder(name); err != nil {
			t.Fatalf("%q becomes %q: %v", given, name, err)
		}
	})
}

// Whatever a batch holds, it is 1 to 100 ids or refused.
func FuzzBatch(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if ids, err := batchIDs(text, "application/json"); err == nil && (len(ids) == 0 || len(ids) > maxBatch) {
			t.Fatalf("%d ids", len(ids))
		}
	})
}

// Whatever a change holds, what is read of it is of its type or refused.
func FuzzFields(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(`{"name":"a","folderId":null,"tags":["x"],"version":1e2,"permissions":[{"principal":"user:a","access":"own"},{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := parseFields(text, "application/json")
		if err != nil {
			return
		}
		name, id, tags := in.text("name"), in.optionalID("folderId", false), in.texts("tags", 10)
		version, given := in.version()
		var access []string
		for _, p := range in.objects("permissions", 10) {
			access = append(access, p.oneOf("access", "read"))
		}
		if in.err() != nil {
			return
		}
		if name == "" || id != nil && *id == uuid.Nil || len(tags) > 10 || given != (version > 0) || strings.Trim(strings.Join(access, ""), "read") != "" {
			t.Fatalf("%q %v %q %d %q", name, id, tags, version, access)
		}
	})
}

// Whatever is asked for, by whatever method and under whatever name, it is
// answered without a fault of ours, and a method that is refused is not among
// those that are allowed.
func FuzzRoutes(f *testing.F) {
	for _, path := range []string{"/vault/documents/batch", "/vault/documents/0b8d5a3e-3ad5-4f57-9d0e-3f1b8c0a6c11.md", "/core/search/", "//core//search", "/vault/../core/jobs/x", "/vault/documents/%2e%2e/x", "/documents/.a",
		"/vault/documents/x\ny", "/vault/folders/{id}", "/vault/documents/a.b.c", "*", "", "/vault/documents/\x00/content", strings.Repeat("/vault", 2000), "/mcp/", "/signin"} {
		for _, method := range []string{"GET", "PATCH", "OPTIONS", "BREW"} {
			f.Add(method, path, "annals.test")
		}
	}
	s := &Server{
		Verify: func(context.Context, string) (events.User, time.Time, error) {
			return events.User{}, time.Time{}, fault.Errorf(fault.Unauthenticated, "nobody")
		},
		MCP: http.NotFoundHandler(), SignIn: http.NotFoundHandler(), SignInDocuments: http.NotFoundHandler(), Metrics: http.NotFoundHandler(),
		Queries: nowhere{}, Logger: slog.New(slog.DiscardHandler), CoreURL: &url.URL{Scheme: "https", Host: "core.test"},
	}
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, method, path, host string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, &http.Request{Method: method, URL: &url.URL{Path: path}, Host: host, Header: http.Header{"Authorization": {"Bearer x"}}, Body: http.NoBody, RemoteAddr: "192.0.2.1:1"})
		allow := w.Header().Values("Allow")
		switch {
		case w.Code >= 500 && w.Code != http.StatusServiceUnavailable:
			t.Fatalf("%q %q at %q = %d %s", method, path, host, w.Code, w.Body)
		case (w.Code == http.StatusMethodNotAllowed) != (len(allow) == 1):
			t.Fatalf("%q %q at %q = %d with Allow %q", method, path, host, w.Code, allow)
		case len(allow) == 1 && slices.Contains(strings.Split(allow[0], ", "), method):
			t.Fatalf("%q %q at %q is refused, and allowed by %q", method, path, host, allow)
		case w.Header().Get("Location") != "":
			t.Fatalf("%q %q at %q is sent to %q", method, path, host, w.Header().Get("Location"))
		}
	})
}

// nowhere is a read side that is not ready.
type nowhere struct{ Queries }

func (nowhere) Ready(context.Context) error                     { return fault.Errorf(fault.Unavailable, "not ready") }
func (nowhere) Status(context.Context) ([]queries.Model, error) { return nil, nil }
