package http_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/commands"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/memory"
	"annals/events/originals"
	httpd "annals/http"
)

// form returns a multipart body that write fills.
func form(write func(*multipart.Writer)) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	write(w)
	w.Close()
	return b.String(), w.FormDataContentType()
}

func addFile(w *multipart.Writer, name, content string) {
	p, _ := w.CreateFormFile("files", name)
	io.WriteString(p, content)
}

func (s *service) upload(query string, write func(*multipart.Writer), header ...string) (*http.Response, string) {
	s.Helper()
	body, contentType := form(write)
	return s.do("POST", "/core/ingest"+query, body, append(header, "Content-Type", contentType)...)
}

func TestIngest(t *testing.T) {
	for _, order := range []string{"metadata first", "metadata last"} {
		t.Run(order, func(t *testing.T) {
			s := start(t, nil)
			metadata := `[{"folder_name":"A/ B ","tags":["x","x"," y"]},{"folder_name":null},{"folder_name":"","tags":[]},{}]`
			resp, body := s.upload("", func(w *multipart.Writer) {
				if order == "metadata first" {
					w.WriteField("file_metadata", metadata)
				}
				addFile(w, `C:\Users\me\Plan e`+"\u0301"+`.md`, "# Plan")
				addFile(w, "../../etc/passwd.TXT", "hello")
				addFile(w, "x.exe", "MZ")
				addFile(w, "empty.pdf", "")
				if order == "metadata last" {
					w.WriteField("file_metadata", metadata)
				}
			}, "X-Request-Id", "trace-7")
			if resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") != "trace-7" {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			files, jobs := s.accepted()
			want := []events.FileAccepted{
				{File: 0, Name: "Plan é.md", Folder: "A/B", Tags: []string{"x", "y"}, Size: 6, MediaType: "text/markdown",
					SHA256: "6d6a8b4f0b5f"},
				{File: 1, Name: "passwd.TXT", Folder: "Inbox/alice", Size: 5, MediaType: "text/plain", SHA256: "2cf24dba5fb0"},
				{File: 2, Name: "x.exe", Folder: "Inbox/alice", Refused: "files of this type"},
				{File: 3, Name: "empty.pdf", Folder: "Inbox/alice", MediaType: "application/pdf", Refused: "the file is empty"},
			}
			if jobs != 1 || len(files) != len(want) {
				t.Fatalf("%d jobs, files %+v", jobs, files)
			}
			for i, w := range want {
				g := files[i]
				if g.Name != w.Name || g.Folder != w.Folder || strings.Join(g.Tags, ",") != strings.Join(w.Tags, ",") || g.Size != w.Size ||
					g.MediaType != w.MediaType || !strings.HasPrefix(g.Refused, w.Refused) || (w.Refused == "") != (g.Refused == "") || (g.SHA256 == "") != (w.SHA256 == "") {
					t.Errorf("file %d = %+v, want %+v", i, g, w)
				}
			}
			if !strings.HasPrefix(files[1].SHA256, want[1].SHA256) {
				t.Errorf("hash of hello: %s", files[1].SHA256)
			}
			if staged, committed := s.stored(); staged != 0 || committed != 2 {
				t.Errorf("%d staged, %d committed, want 0 and 2", staged, committed)
			}
			o, err := s.server.Originals.Open(context.Background(), files[1].SHA256)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if b, _ := io.ReadAll(o); string(b) != "hello" {
				t.Errorf("original %q", b)
			}
			var correlation string
			s.log.ReadStream(context.Background(), lastJob(s), 0, func(e events.Event) error {
				correlation = e.Metadata.Correlation
				return nil
			})
			if correlation != "trace-7" {
				t.Errorf("correlation id %q", correlation)
			}
		})
	}
}

// lastJob returns the stream of the last job in the log.
func lastJob(s *service) string {
	batch, _, err := s.log.Read(context.Background(), 0, 1000, "ImportRequested")
	if err != nil || len(batch) == 0 {
		s.Fatalf("no job in the log: %v", err)
	}
	return batch[len(batch)-1].Stream
}

func TestIngestFaults(t *testing.T) {
	s := start(t, nil)
	one := func(w *multipart.Writer) { addFile(w, "a.md", "# A") }
	with := func(metadata string) func(*multipart.Writer) {
		return func(w *multipart.Writer) { one(w); w.WriteField("file_metadata", metadata) }
	}
	detail := func(kind, loc, msg, input, ctx string) string {
		if ctx != "" {
			ctx = `,"ctx":` + ctx
		}
		return `{"type":"` + kind + `","loc":["body",` + loc + `],"msg":"` + msg + `","input":` + input + ctx + `}`
	}
	noFiles := detail("missing", `"files"`, "Field required", "null", "")
	noBool := `{"type":"bool_parsing","loc":["query","stream"],"msg":"Input should be a valid boolean, unable to interpret input","input":"maybe"}`
	noFile := detail("value_error", `"files",0`, "Value error, Expected UploadFile, received: <class 'str'>", `"abc"`, `{"error":{}}`)
	noJSON := func(text, why string) string {
		return detail("json_invalid", `"file_metadata"`, "Invalid JSON: "+why, text, `{"error":"`+why+`"}`)
	}
	tests := []struct {
		query string
		write func(*multipart.Writer)
		want  string
	}{
		{"", func(*multipart.Writer) {}, noFiles},
		{"", func(w *multipart.Writer) { w.WriteField("file_metadata", "[]") }, noFiles},
		{"", func(w *multipart.Writer) { addFile(w, "", "") }, noFiles},
		{"?stream=maybe", one, noBool},
		{"", func(w *multipart.Writer) { w.WriteField("files", "abc") }, noFile},
		{"?stream=maybe", func(w *multipart.Writer) { w.WriteField("file_metadata", "{}"); w.WriteField("files", "abc") },
			noBool + "," + noFile + "," + detail("list_type", `"file_metadata"`, "Input should be a valid list", "{}", "")},
		{"", with(""), noJSON(`""`, "expecting value at line 1 column 1")},
		{"", with("[\n{]"), noJSON(`"[\n{]"`, "expecting property name enclosed in double quotes at line 2 column 2")},
		{"", with("[{}"), noJSON(`"[{}"`, "expecting ',' delimiter at line 1 column 4")},
		{"", with("[{}] x"), noJSON(`"[{}] x"`, "extra data at line 1 column 6")},
		{"", with("[{},]"), noJSON(`"[{},]"`, "expecting value at line 1 column 5")},
		{"", with("[1,]"), noJSON(`"[1,]"`, "expecting value at line 1 column 4")},
		{"", with("null"), detail("list_type", `"file_metadata"`, "Input should be a valid list", "null", "")},
		{"", with(`["x"]`), detail("dict_type", `"file_metadata",0`, "Input should be a valid dictionary", `"x"`, "")},
		{"", with(`[{"folder_name":1,"tags":[1]}]`), detail("string_type", `"file_metadata",0,"folder_name"`, "Input should be a valid string", "1", "") + "," +
			detail("string_type", `"file_metadata",0,"tags",0`, "Input should be a valid string", "1", "")},
		{"", with(`[{"tags":null}]`), detail("list_type", `"file_metadata",0,"tags"`, "Input should be a valid list", "null", "")},
		{"", with(`[]`), detail("too_short", `"file_metadata"`, "List should have at least 1 items after validation, not 0", "null", `{"field_type":"List","min_length":1,"actual_length":0}`)},
		{"", with(`[{},{}]`), detail("too_long", `"file_metadata"`, "List should have at most 1 items after validation, not 2", "null", `{"field_type":"List","max_length":1,"actual_length":2}`)},
		{"", with(`[{"folder_name":"a/../b"}]`), detail("value_error", `"file_metadata",0,"folder_name"`, `Value error, folder path \"a/../b\": a name cannot be \"..\"`, `"a/../b"`, `{"error":{}}`)},
		{"", with(`[{"folder_name":"\ud800"}]`), detail("json_invalid", `"file_metadata"`, "Invalid JSON: lone surrogate in hex escape at line 1 column 18", `"[{\"folder_name\":\"\\ud800\"}]"`, `{"error":"lone surrogate in hex escape at line 1 column 18"}`)},
		{"", with(`[{"tags":[" "]}]`), detail("value_error", `"file_metadata",0,"tags"`, "Value error, a tag cannot be empty", `[" "]`, `{"error":{}}`)},
		{"", func(w *multipart.Writer) {
			one(w)
			p, _ := w.CreateFormFile("file_metadata", "m.json")
			io.WriteString(p, "[{}]")
		},
			detail("string_type", `"file_metadata"`, "Input should be a valid string", `{"filename":"m.json"}`, "")},
	}
	for _, test := range tests {
		resp, body := s.upload(test.query, test.write)
		s.want(resp, body, 422, `{"detail":[`+test.want+`]}`)
	}
	const (
		b      = "multipart/form-data; boundary=b"
		file   = "Content-Disposition: form-data; name=\"files\"; filename=\"a.md\"\r\n\r\n"
		noName = `400 {"detail":"The Content-Disposition header field \"name\" must be provided."}`
	)
	text, contentType := form(one)
	for _, test := range []struct{ contentType, body, want string }{
		{"application/json", `{"files":[]}`, `422 {"detail":[` + noFiles + `]}`},
		{"", text, `422 {"detail":[` + noFiles + `]}`},
		{"multipart/form-data", text, `400 {"detail":"Missing boundary in multipart."}`},
		{contentType, "xx", `400 {"detail":"Invalid multipart data."}`},
		{contentType, text[:len(text)-30], `422 {"detail":[` + noFiles + `]}`},
		{contentType, strings.Replace(text, "form-data; name", `form-data; "`, 1), noName},
		{b, "", `422 {"detail":[` + noFiles + `]}`},
		{b, "--b\r\n" + file, `422 {"detail":[` + noFiles + `]}`},
		{b, "--b\r\n" + file + "# A\r\n--b", `400 {"detail":"Invalid multipart data."}`},
		{b, "--b\r\n" + file + "# A\r\n--b-", `422 {"detail":[` + noFiles + `]}`},
		{b, "--b--\r\n", `422 {"detail":[` + noFiles + `]}`},
		{b, "--x\r\n" + file + "# A\r\n--x--\r\n", `400 {"detail":"Invalid multipart data."}`},
		{b, "--b\r\n" + file + "# A\r\n--b\r\n" + file + "# B", `400 {"detail":"Invalid multipart data."}`},
		{b, "--b\r\n" + file + "# A\r\n--b\r\n", `400 {"detail":"Invalid multipart data."}`},
		{b, "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n", noName},
		{b, "--b\r\n" + strings.Replace(file, `name="files"; `, "", 1) + "# A\r\n--b--\r\n", noName},
	} {
		resp, body := s.do("POST", "/core/ingest", test.body, "Content-Type", test.contentType)
		var status int
		fmt.Sscan(test.want, &status)
		s.want(resp, body, status, test.want[4:])
	}
	if _, jobs := s.accepted(); jobs != 0 {
		t.Errorf("invalid uploads started %d jobs", jobs)
	}
	if staged, committed := s.stored(); staged+committed != 0 {
		t.Errorf("invalid uploads left %d staged and %d committed files", staged, committed)
	}
}

// An upload to the inbox itself or to another user's folder in it is refused. The error
// names the user's own folder.
func TestIngestNamesOwnInbox(t *testing.T) {
	s := start(t, nil)
	for _, folder := range []string{"Inbox", "Inbox/foo"} {
		resp, body := s.upload("", func(w *multipart.Writer) {
			w.WriteField("file_metadata", `[{"folder_name":"`+folder+`"}]`)
			addFile(w, "a.md", "# A")
		})
		s.want(resp, body, 403, `{"detail":"you may not write in folder \"`+folder+`\"; your own folder there is \"Inbox/alice\""}`)
	}
}

func TestIngestLimits(t *testing.T) {
	s := start(t, func(h *httpd.Server) {
		h.Limits = httpd.Limits{FileBytes: 10, Files: 3, UploadBytes: 4000, MetadataBytes: 50}
	})
	resp, body := s.upload("", func(w *multipart.Writer) {
		addFile(w, "a.md", "0123456789")
		addFile(w, "b.md", "0123456789x")
		addFile(w, "c.md", "c")
	})
	files, _ := s.accepted()
	if resp.StatusCode != 200 || len(files) != 3 || files[0].Refused != "" || !strings.Contains(files[1].Refused, "larger than the limit of 10 bytes") || files[2].Refused != "" {
		t.Errorf("%d %s: %+v", resp.StatusCode, body, files)
	}
	for _, test := range []struct {
		write func(*multipart.Writer)
		want  string
	}{
		{func(w *multipart.Writer) {
			for range 4 {
				addFile(w, "a.md", "d")
			}
		}, "one upload may have at most 3 files"},
		{func(w *multipart.Writer) { addFile(w, "a.md", strings.Repeat("e", 5000)) }, "one upload may have at most 4000 bytes"},
		{func(w *multipart.Writer) {
			addFile(w, "a.md", "f")
			w.WriteField("file_metadata", strings.Repeat(" ", 51))
		}, "file_metadata may have at most 50 bytes"},
	} {
		resp, body := s.upload("", test.write)
		s.want(resp, body, 413, `{"detail":"`+test.want+`"}`)
	}
	if _, jobs := s.accepted(); jobs != 1 {
		t.Errorf("%d jobs, want 1", jobs)
	}
	if staged, committed := s.stored(); staged != 0 || committed != 2 {
		t.Errorf("%d staged and %d committed files, want 0 and 2", staged, committed)
	}
}

// Missing write access is reported before anything is stored.
func TestIngestForbidden(t *testing.T) {
	var stored counter
	s := start(t, func(h *httpd.Server) { h.Originals = &countingStore{Store: h.Originals, staged: &stored} })
	bob := events.User{Principal: "user:bob"}
	if _, err := s.server.Commands.(*commands.Handler).EnsureFolder(t.Context(), bob, events.Cause{Actor: bob.Principal}, foldertree.Destination{Path: "Bob"}); err != nil {
		t.Fatal(err)
	}
	for _, first := range []bool{true, false} {
		resp, body := s.upload("", func(w *multipart.Writer) {
			if first {
				w.WriteField("file_metadata", `[{"folder_name":"Bob/sub"}]`)
			}
			addFile(w, "a.md", "# A")
			if !first {
				w.WriteField("file_metadata", `[{"folder_name":"Bob/sub"}]`)
			}
		})
		if resp.StatusCode != 403 {
			t.Errorf("%d %s, want 403", resp.StatusCode, body)
		}
		if first && stored.n != 0 {
			t.Error("a file was stored before write access was checked")
		}
	}
	if staged, committed := s.stored(); staged+committed != 0 {
		t.Errorf("%d staged and %d committed files are left", staged, committed)
	}
}

type counter struct {
	sync.Mutex
	n int
}

// countingStore counts staged files.
type countingStore struct {
	originals.Store
	staged *counter
}

func (c *countingStore) Stage(ctx context.Context, r io.Reader, limit int64) (originals.Staged, error) {
	c.staged.Lock()
	c.staged.n++
	c.staged.Unlock()
	return c.Store.Stage(ctx, r, limit)
}

// If the read models take too long, the reply to an accepted upload is 202.
func TestIngestDespiteLag(t *testing.T) {
	s := start(t, func(h *httpd.Server) { h.Await = time.Millisecond })
	s.library.lag = true
	resp, body := s.upload("", func(w *multipart.Writer) { addFile(w, "a.md", "# A") })
	id := strings.TrimPrefix(lastJob(s), "job-")
	s.want(resp, body, 202, `{"job_id":"`+id+`","status":"processing","message":"1 file accepted, waiting to be read","progress_percent":0,"total_files":1,"successful":0,"failed":0,"error":null,"done":false,"results":null}`)
}

// If a client disconnects in the middle of a file, nothing of the upload remains.
func TestClientDisconnects(t *testing.T) {
	begun, left := make(chan struct{}), make(chan struct{})
	s := start(t, func(h *httpd.Server) { h.Originals = &leavingStore{Store: h.Originals, begun: begun, failed: left} })
	body, out := io.Pipe()
	w := multipart.NewWriter(out)
	ctx, hangUp := context.WithCancel(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/core/ingest", body)
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", w.FormDataContentType())
	ended := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(r)
		ended <- err
	}()
	addFile(w, "whole.md", "# whole")
	p, _ := w.CreateFormFile("files", "half.md")
	if _, err := p.Write(bytes.Repeat([]byte("half"), 100_000)); err != nil {
		t.Fatal(err)
	}
	<-begun // the half file is being staged
	hangUp()
	out.CloseWithError(context.Canceled)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	<-left // Stage of the half file returned
	deadline := time.Now().Add(5 * time.Second)
	for staged, committed := s.stored(); staged+committed != 0; staged, committed = s.stored() {
		if time.Now().After(deadline) {
			t.Fatalf("%d staged and %d committed files are left", staged, committed)
		}
		runtime.Gosched()
	}
	if _, jobs := s.accepted(); jobs != 0 {
		t.Errorf("%d jobs", jobs)
	}
}

// leavingStore signals when staging of the second file begins, and when it fails.
type leavingStore struct {
	originals.Store
	files         int
	begun, failed chan struct{}
}

func (l *leavingStore) Stage(ctx context.Context, r io.Reader, limit int64) (originals.Staged, error) {
	if l.files++; l.files == 2 {
		close(l.begun)
	}
	staged, err := l.Store.Stage(ctx, r, limit)
	if err != nil {
		close(l.failed)
	}
	return staged, err
}

// Any body is either accepted as a whole, or refused without a trace.
func FuzzIngest(f *testing.F) {
	for _, write := range []func(*multipart.Writer){
		func(w *multipart.Writer) { addFile(w, "a.md", "# A") },
		func(w *multipart.Writer) { w.WriteField("file_metadata", `[{}]`); addFile(w, "a.md", "") },
		func(w *multipart.Writer) { w.WriteField("files", "x"); w.WriteField("other", "y") },
	} {
		body, contentType := form(write)
		boundary := contentType[strings.Index(contentType, "=")+1:]
		f.Add(strings.ReplaceAll(body, boundary, "b"))
	}
	f.Add("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.md\"\r\n\r\nhalf")
	log := events.NewLog(memory.New())
	defer log.Close()
	root := f.TempDir()
	store, err := originals.OpenDir(root)
	if err != nil {
		f.Fatal(err)
	}
	s := &httpd.Server{Verify: verify, Queries: &library{log: log}, Commands: &commands.Handler{Log: log}, Originals: store, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, body string) {
		before, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/core/ingest", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		after, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if accepted := w.Code == 200; accepted != (after > before) || !accepted && w.Code != 400 && w.Code != 413 && w.Code != 422 {
			t.Fatalf("%q = %d %s, and the head of the log moved from %d to %d", body, w.Code, w.Body, before, after)
		}
		if left, err := os.ReadDir(filepath.Join(root, "staging")); err != nil || len(left) > 0 {
			t.Fatalf("%q left %v, %v", body, left, err)
		}
	})
}
