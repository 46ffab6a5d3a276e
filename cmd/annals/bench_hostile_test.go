package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/client"

	"golang.org/x/sync/errgroup"
)

const (
	hostileTime  = 2 * time.Minute // with him; ANNALS_HOSTILE overrides it
	hostileQuota = 256             // MiB of each user
	hostileFill  = 150             // documents of each user at the start
)

// BenchmarkHostileHour has three users import, search and ask at a steady rate,
// first alone, then while a fourth does his worst. It reports how long they wait
// beside how long they did without him, the memory of the server with all its
// children, and how much the data folder grew. In the end every document of
// theirs must be there and found, and the data folder sound.
func BenchmarkHostileHour(b *testing.B) {
	lasts := hostileTime
	if text := os.Getenv("ANNALS_HOSTILE"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			b.Fatalf("ANNALS_HOSTILE: %v", err)
		}
	}
	s := serveBench(b, nil, "--quota-bytes", fmt.Sprint(hostileQuota, "MiB"))
	users := []*steadyUser{newSteadyUser(s, "ann"), newSteadyUser(s, "ben"), newSteadyUser(s, "cleo")}
	him := newHostileUser(s, "mallory", users)
	for b.Loop() {
		s.together(users, func(ctx context.Context, u *steadyUser) error { return u.fill(ctx) })
		him.prepare()
		stop := s.watchFamily() // looking takes time itself
		alone := s.steady(users, lasts/4)
		stop()
		before := s.diskSize()
		stop = s.watchFamily()
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			him.attack(ctx)
		}()
		beside := s.steady(users, lasts)
		cancel()
		<-ended
		peak, server := stop()
		grown, parts := s.diskSize().since(before)
		b.Logf("without him: %s", alone)
		b.Logf("beside him:  %s", beside)
		b.Logf("the data folder grew by %s", parts)
		b.Logf("he was answered: %s", him.answers())
		for _, what := range []string{"import", "search", "ask"} {
			p50, p95 := quantile(alone[what], 0.5), quantile(alone[what], 0.95)
			b.ReportMetric(quantile(beside[what], 0.5).Seconds()/p50.Seconds(), what+"-p50/alone")
			b.ReportMetric(quantile(beside[what], 0.95).Seconds()/p95.Seconds(), what+"-p95/alone")
		}
		b.ReportMetric(peak, "peak-MB")
		b.ReportMetric(server, "server-peak-MB")
		b.ReportMetric(float64(grown)/(1<<20), "disk-MB")
		b.ReportMetric(hostileQuota, "quota-MB")
		b.ReportMetric(float64(him.accepted())/(1<<20), "his-MB")
		s.together(users, func(ctx context.Context, u *steadyUser) error { return u.wantAll(ctx) })
	}
	him.wantNoFault()
	if err := s.end(os.Interrupt); err != nil {
		b.Errorf("the server ended with %v", err)
	}
	var report strings.Builder
	if err := run(b.Context(), []string{"verify", "--data", s.data}, strings.NewReader(""), &report, &report); err != nil {
		b.Errorf("verify: %v\n%s", err, report.String())
	}
}

// together does something for all users at once.
func (s *benchServer) together(users []*steadyUser, do func(context.Context, *steadyUser) error) {
	s.Helper()
	g, ctx := errgroup.WithContext(s.Context())
	for _, u := range users {
		g.Go(func() error {
			if err := do(ctx, u); err != nil {
				return fmt.Errorf("%s: %w", u.name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
}

// waits are how long was waited for what users do.
type waits map[string][]time.Duration

func (w waits) String() string {
	var text strings.Builder
	for _, what := range []string{"import", "search", "ask"} {
		d := w[what]
		fmt.Fprintf(&text, "%s %d times, p50 %v, p95 %v, most %v; ", what, len(d),
			quantile(d, 0.5).Round(time.Millisecond), quantile(d, 0.95).Round(time.Millisecond), quantile(d, 1).Round(time.Millisecond))
	}
	return strings.TrimSuffix(text.String(), "; ")
}

// steady has all users do what they do for a time.
func (s *benchServer) steady(users []*steadyUser, lasts time.Duration) waits {
	s.Helper()
	all := waits{}
	var mu sync.Mutex
	s.together(users, func(ctx context.Context, u *steadyUser) error {
		until := time.Now().Add(lasts)
		g, ctx := errgroup.WithContext(ctx)
		for what, act := range map[string]struct {
			every time.Duration
			do    func(ctx context.Context, n int) error
		}{
			"import": {3 * time.Second, u.importSome},
			"search": {time.Second, func(ctx context.Context, _ int) error { return u.search(ctx, zipfQuestion(u.random())) }},
			"ask":    {3 * time.Second, func(ctx context.Context, _ int) error { return u.ask(ctx, zipfQuestion(u.random())) }},
		} {
			g.Go(func() error {
				// Each is begun at its time, or as soon as the one before has ended;
				// it counts from its time.
				for due := time.Now().Add(time.Duration(rand.Int64N(int64(act.every)))); due.Before(until); due = due.Add(act.every) {
					select {
					case <-time.After(time.Until(due)):
					case <-ctx.Done():
						return ctx.Err()
					}
					if err := act.do(ctx, u.next()); err != nil {
						return fmt.Errorf("%s: %w", what, err)
					}
					mu.Lock()
					all[what] = append(all[what], time.Since(due))
					mu.Unlock()
				}
				return nil
			})
		}
		return g.Wait()
	})
	return all
}

// hostileClient is a user of the server, by connections of his own.
type hostileClient struct {
	*benchServer
	name   string
	client *http.Client

	mu     sync.Mutex
	bearer string
	issued time.Time
}

func newHostileClient(s *benchServer, name string) *hostileClient {
	s.addUser(name)
	return &hostileClient{benchServer: s, name: name, client: client.NewHTTPClient(16)}
}

func (c *hostileClient) token() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if time.Since(c.issued) > 20*time.Minute {
		c.bearer, err = issueToken(c.data, c.name)
		c.issued = time.Now()
	}
	return c.bearer, err
}

// send makes a request and returns its status and what was replied, up to a
// bound.
func (c *hostileClient) send(ctx context.Context, method, path, contentType string, body io.Reader) (status int, reply []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return 0, nil, err
	}
	token, err := c.token()
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	return answer.StatusCode, reply, err
}

// sendJSON is send of a value, which must be answered by 200 to be decoded.
func (c *hostileClient) sendJSON(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	status, reply, err := c.send(ctx, method, path, "application/json", bytes.NewReader(text))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %.300s", method, path, status, reply)
	}
	if err == nil {
		err = json.Unmarshal(reply, into)
	}
	return err
}

// upload is one file.
type upload struct {
	name    string
	content []byte
}

// form is a request of files.
func form(files []upload) (contentType string, body []byte, err error) {
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	for _, f := range files {
		part, err := w.CreateFormFile("files", f.name)
		if err == nil {
			_, err = part.Write(f.content)
		}
		if err != nil {
			return "", nil, err
		}
	}
	err = w.Close()
	return w.FormDataContentType(), buffer.Bytes(), err
}

// steadyUser imports, searches and asks.
type steadyUser struct {
	*hostileClient

	count     int
	documents []markedDocument
}

// markedDocument is an imported one, with a word that no other has.
type markedDocument struct{ id, mark string }

func newSteadyUser(s *benchServer, name string) *steadyUser {
	return &steadyUser{hostileClient: newHostileClient(s, name)}
}

func (u *steadyUser) next() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	return u.count
}

func (u *steadyUser) random() *rand.Rand {
	return rand.New(rand.NewPCG(uint64(u.next()), uint64(u.name[0])))
}

// file makes a file of a kind, in whose text a mark stands.
func (u *steadyUser) file(kind, mark string) (f upload, err error) {
	random := u.random()
	var text strings.Builder
	for word := range 200 {
		if word == 100 {
			text.WriteString(mark + " ")
		}
		text.WriteString(zipfWord(random))
		if word%12 == 11 {
			text.WriteString(".")
		}
		text.WriteString(" ")
	}
	f.name = mark + kind
	switch kind {
	case ".docx":
		f.content, err = docx(text.String())
	case ".pdf":
		words := strings.Fields(text.String())
		var lines []string
		for part := range slices.Chunk(words, 10) {
			lines = append(lines, strings.Join(part, " "))
		}
		f.content = writePDF(pdfLines(lines), 1)
	default:
		f.content = []byte("# About " + mark + "\n\n" + text.String() + "\n")
	}
	return f, err
}

// importSome imports three files and waits until they are done.
func (u *steadyUser) importSome(ctx context.Context, n int) error {
	kinds := []string{".md", ".txt", ".docx"}
	if n%3 == 0 {
		kinds[2] = ".pdf"
	}
	return u.importKinds(ctx, n, kinds)
}

// fill imports what a user has from before.
func (u *steadyUser) fill(ctx context.Context) error {
	for range hostileFill / 50 {
		kinds := slices.Repeat([]string{".md", ".txt", ".docx", ".md", ".pdf"}, 10)
		if err := u.importKinds(ctx, u.next(), kinds); err != nil {
			return err
		}
	}
	return nil
}

func (u *steadyUser) importKinds(ctx context.Context, n int, kinds []string) error {
	var files []upload
	marks := map[string]string{} // by file
	for i, kind := range kinds {
		mark := fmt.Sprintf("%smark%dq%d", u.name, n, i)
		f, err := u.file(kind, mark)
		if err != nil {
			return err
		}
		files = append(files, f)
		marks[f.name] = mark
	}
	contentType, body, err := form(files)
	if err != nil {
		return err
	}
	status, stream, err := u.send(ctx, http.MethodPost, "/core/ingest?stream=true", contentType, bytes.NewReader(body))
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("import of %d files: %d %.300s %w", len(files), status, stream, err)
	}
	var last struct {
		Type string `json:"event_type"`
		Job  string `json:"job_id"`
	}
	for lines := bufio.NewScanner(bytes.NewReader(stream)); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				return err
			}
		}
	}
	if last.Job == "" {
		return fmt.Errorf("import of %d files is answered with %.1000s", len(files), stream)
	}
	// A stream in which nothing happens ends, and the import goes on.
	var job client.Job
	for {
		if err := u.sendJSON(ctx, http.MethodGet, "/core/jobs/"+last.Job, nil, &job); err != nil {
			return err
		}
		if job.Done {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if job.Successful != len(files) {
		return fmt.Errorf("of %d files %d were imported; %+v", len(files), job.Successful, firstFailure(job))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range job.Results {
		u.documents = append(u.documents, markedDocument{r.Document, marks[r.Filename]})
	}
	return nil
}

// found is what a search gives.
type found struct {
	Sources []struct {
		Document string `json:"document_id"`
		Link     string `json:"deep_link"`
	} `json:"sources"`
}

func (u *steadyUser) search(ctx context.Context, question string) error {
	return u.sendJSON(ctx, http.MethodPost, "/core/search", map[string]string{"query": question}, new(found))
}

func (u *steadyUser) ask(ctx context.Context, question string) error {
	return u.sendJSON(ctx, http.MethodPost, "/core/ask", map[string]string{"query": question}, new(map[string]any))
}

// wantAll checks that each document is there, and is found by its mark.
func (u *steadyUser) wantAll(ctx context.Context) error {
	for _, d := range u.documents {
		status, text, err := u.send(ctx, http.MethodGet, "/vault/documents/"+d.id+"/markdown", "text/plain", nil)
		if err != nil || status != http.StatusOK || !bytes.Contains(text, []byte(d.mark)) {
			return fmt.Errorf("the document of %s: %d %.300s %w", d.mark, status, text, err)
		}
		for begun := time.Now(); ; {
			body, err := json.Marshal(map[string]string{"query": d.mark})
			if err != nil {
				return err
			}
			status, text, err := u.send(ctx, http.MethodPost, "/core/search", "application/json", bytes.NewReader(body))
			if err == nil && status == http.StatusTooManyRequests && time.Since(begun) < 2*time.Minute { // this asks far more than anybody does
				select {
				case <-time.After(time.Second):
					continue
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if err != nil || status != http.StatusOK || !bytes.Contains(text, []byte(d.id)) {
				return fmt.Errorf("search for %s: %d %.300s %w", d.mark, status, text, err)
			}
			break
		}
	}
	return nil
}

// diskSize returns the bytes of the data folder, by what lies in it.
func (s *benchServer) diskSize() diskSize {
	size := diskSize{}
	_ = filepath.WalkDir(s.data, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil { // else it is gone
				inside, _ := filepath.Rel(s.data, path)
				name, _, _ := strings.Cut(filepath.ToSlash(inside), "/")
				size[strings.TrimSuffix(name, "-wal")] += info.Size()
			}
		}
		return nil
	})
	return size
}

type diskSize map[string]int64

// since returns by how much it grew.
func (d diskSize) since(before diskSize) (all int64, parts string) {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		grown := d[name] - before[name]
		if all += grown; grown >= 1<<20 {
			list = append(list, fmt.Sprintf("%s %d MB", name, grown>>20))
		}
	}
	return all, strings.Join(list, ", ")
}

// watchFamily is watchMemory of all memory; what processes share counts in parts.
func (s *benchServer) watchFamily() (stop func() (all, server float64)) {
	return peaks(250*time.Millisecond, func() (server, children float64) {
		for i, pid := range s.family() {
			if own := proportionalSize(pid); i == 0 {
				server = own
			} else {
				children += own
			}
		}
		return server, children
	})
}

// proportionalSize returns the memory of a process in MB, 0 if there is none.
func proportionalSize(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	_, after, _ := strings.Cut(string(text), "\nPss:")
	line, _, _ := strings.Cut(after, "kB")
	kilobytes, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return kilobytes / 1024
}

// hostileUser does what costs others the most.
type hostileUser struct {
	*hostileClient
	users []*steadyUser
	files []upload // one of each costly kind

	replies map[string]map[string]int // by attack and status
	bytes   int64                     // of uploads that were accepted
	faults  []string
}

func newHostileUser(s *benchServer, name string, users []*steadyUser) *hostileUser {
	return &hostileUser{hostileClient: newHostileClient(s, name), users: users, replies: make(map[string]map[string]int)}
}

// prepare makes what he uploads.
func (h *hostileUser) prepare() {
	h.files = nil
	random := rand.New(rand.NewPCG(99, 0))
	for kind := range costlyKinds {
		h.files = append(h.files, costlyFile(kind, random))
	}
}

// attack does all that he can think of until ctx ends.
func (h *hostileUser) attack(ctx context.Context) {
	var all sync.WaitGroup
	for name, a := range h.attacks() {
		for worker := range max(1, a.workers) {
			all.Go(func() {
				for n := worker; ctx.Err() == nil; n += max(1, a.workers) {
					h.note(ctx, name, a.do(ctx, n))
					select {
					case <-time.After(a.pause):
					case <-ctx.Done():
					}
				}
			})
		}
	}
	all.Wait()
}

// replied is what came of one try.
type replied struct {
	status int
	reply  []byte
	err    error
	bytes  int // of an upload
}

func (h *hostileUser) note(ctx context.Context, attack string, r replied) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.replies[attack] == nil {
		h.replies[attack] = make(map[string]int)
	}
	switch {
	case ctx.Err() != nil:
	case r.err != nil:
		h.replies[attack]["no reply"]++
	default:
		h.replies[attack][strconv.Itoa(r.status)]++
		if r.status < 300 {
			h.bytes += int64(r.bytes)
		}
		if r.status >= 500 && r.status != http.StatusServiceUnavailable && len(h.faults) < 10 {
			h.faults = append(h.faults, fmt.Sprintf("%s: %d %.300s", attack, r.status, r.reply))
		}
	}
}

func (h *hostileUser) accepted() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes
}

func (h *hostileUser) answers() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for attack, replies := range h.replies {
		lines = append(lines, fmt.Sprintf("%s %v", attack, replies))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// wantNoFault fails if the server had an internal fault.
func (h *hostileUser) wantNoFault() {
	for _, f := range h.faults {
		h.Errorf("he caused %s", f)
	}
}

// attack is one thing that he does again and again.
type attack struct {
	workers int
	pause   time.Duration
	do      func(ctx context.Context, n int) replied
}

func (h *hostileUser) attacks() map[string]attack {
	return map[string]attack{
		"costly files": {2, time.Second, func(ctx context.Context, n int) replied {
			random := rand.New(rand.NewPCG(99, uint64(n)))
			var files []upload
			for i := range 4 {
				files = append(files, resalt(h.files[(4*n+i)%costlyKinds], random))
			}
			return h.upload(ctx, files)
		}},
		"many small files": {2, 2 * time.Second, func(ctx context.Context, n int) replied {
			var files []upload
			for i := range 200 {
				files = append(files, upload{fmt.Sprintf("m%d-%d.md", n, i), fmt.Appendf(nil, "# %d of %d\n\nsmall\n", i, n)})
			}
			return h.upload(ctx, files)
		}},
		"slow uploads": {16, 100 * time.Millisecond, func(ctx context.Context, n int) replied {
			contentType, body, err := form([]upload{{fmt.Sprintf("slow-%d.txt", n), bytes.Repeat([]byte("slow "), 20_000)}})
			if err != nil {
				return replied{err: err}
			}
			r := h.post(ctx, "/core/ingest", contentType, &trickle{ctx, body, 10 * time.Second / time.Duration(len(body)/trickleBytes+1)})
			r.bytes = len(body)
			return r
		}},
		"long searches": {4, 2 * time.Millisecond, func(ctx context.Context, n int) replied {
			return h.postJSON(ctx, "/core/search", map[string]any{"query": longQuestion(n, 2000)})
		}},
		"long questions": {4, 2 * time.Millisecond, func(ctx context.Context, n int) replied {
			return h.postJSON(ctx, "/core/ask", map[string]any{"query": longQuestion(n, 2000)})
		}},
		"folders and shares": {2, 50 * time.Millisecond, func(ctx context.Context, n int) replied {
			r := h.postJSON(ctx, "/vault/folders", map[string]any{"name": fmt.Sprintf("%s folder %d", h.users[n%3].name, n)})
			var made struct {
				ID string `json:"id"`
			}
			if r.err != nil || r.status != http.StatusCreated || json.Unmarshal(r.reply, &made) != nil {
				return r
			}
			var grants []map[string]string
			for _, u := range h.users {
				grants = append(grants, map[string]string{"principal": "user:" + u.name, "access": "read"})
			}
			return h.requestJSON(ctx, http.MethodPut, "/vault/folders/"+made.ID+"/permissions", map[string]any{"permissions": grants})
		}},
		"wrong passwords": {2, 100 * time.Millisecond, func(_ context.Context, n int) replied {
			w, err := newWalker(h.users[n%3].name, fmt.Sprint("guess ", n), "allow")
			if err != nil {
				return replied{err: err}
			}
			w.client.Timeout = 30 * time.Second
			_, err = w.walk(h.base + "/signin/")
			return replied{status: http.StatusOK, err: err}
		}},
		"batches of pings": {1, 200 * time.Millisecond, func(ctx context.Context, _ int) replied {
			return h.post(ctx, "/mcp", "application/json", strings.NewReader("["+strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 19_000)+`{"jsonrpc":"2.0","id":2,"method":"ping"}]`))
		}},
		"listings": {2, 10 * time.Millisecond, func(ctx context.Context, n int) replied {
			paths := []string{"/vault/folders?include=true", "/vault/documents?limit=1000", "/vault/audit", "/vault/tags", "/core/folders/summary?folder_name=Inbox"}
			return h.requestJSON(ctx, http.MethodGet, paths[n%len(paths)], nil)
		}},
		"searches by tool": {2, 10 * time.Millisecond, func(ctx context.Context, n int) replied {
			return h.postJSON(ctx, "/mcp", map[string]any{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": map[string]any{
				"name": "service_search", "arguments": map[string]string{"query": longQuestion(n, 300)},
			}})
		}},
	}
}

func longQuestion(n, words int) string {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	all := make([]string, words)
	for i := range all {
		all[i] = zipfWord(random)
	}
	return strings.Join(all, " ")
}

func (h *hostileUser) upload(ctx context.Context, files []upload) replied {
	contentType, body, err := form(files)
	if err != nil {
		return replied{err: err}
	}
	r := h.post(ctx, "/core/ingest", contentType, bytes.NewReader(body))
	r.bytes = len(body)
	return r
}

func (h *hostileUser) post(ctx context.Context, path, contentType string, body io.Reader) (r replied) {
	r.status, r.reply, r.err = h.send(ctx, http.MethodPost, path, contentType, body)
	return r
}

func (h *hostileUser) postJSON(ctx context.Context, path string, body any) replied {
	return h.requestJSON(ctx, http.MethodPost, path, body)
}

func (h *hostileUser) requestJSON(ctx context.Context, method, path string, body any) (r replied) {
	text, err := json.Marshal(body)
	if err != nil {
		return replied{err: err}
	}
	r.status, r.reply, r.err = h.send(ctx, method, path, "application/json", bytes.NewReader(text))
	return r
}

const trickleBytes = 1000

// trickle is a body that comes slowly.
type trickle struct {
	ctx   context.Context
	body  []byte
	pause time.Duration
}

func (t *trickle) Read(p []byte) (int, error) {
	if len(t.body) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(t.pause):
	case <-t.ctx.Done():
		return 0, t.ctx.Err()
	}
	n := copy(p, t.body[:min(trickleBytes, len(t.body))])
	t.body = t.body[n:]
	return n, nil
}
