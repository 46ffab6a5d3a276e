package http_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/cmd/usage"
	"annals/commands"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
	httpd "annals/http"
	"annals/http/ingest"
	"annals/http/metrics"
	"annals/queries"
)

// limit starts the stack with limits for each user and for each top-level folder.
func limit(t *testing.T, user, folder quota.Limits, change ...func(*httpd.Server)) *service {
	t.Helper()
	return startStack(t, append(change, func(h *httpd.Server) {
		h.Commands.(*commands.Handler).Quota = &quota.Ledger{
			Policy: &quota.Policy{User: user, Folder: folder}, Usage: usage.Reads{Queries: h.Queries.(*queries.Queries)},
			Refuse: h.Metrics.(*metrics.Metrics).Refuse,
		}
	})...)
}

// heldOriginals blocks the importer: it may read one original for each value received from
// release.
type heldOriginals struct {
	originals.Store
	release chan struct{}
}

func (h heldOriginals) Path(ctx context.Context, sha256 string) (string, func(), error) {
	select {
	case <-h.release:
		return h.Store.Path(ctx, sha256)
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
}

// put uploads files of the given sizes into a folder. after is the Retry-After header of the
// response.
func (s *service) put(folder string, sizes []int, header ...string) (status int, body, after string) {
	s.Helper()
	resp, body := s.upload("", func(w *multipart.Writer) {
		var metadata []string
		for i, size := range sizes {
			addFile(w, fmt.Sprintf("%d.txt", i), fmt.Sprintf("%d %s", unique.Add(1), strings.Repeat("lamp oil ", size/9+1))[:size])
			metadata = append(metadata, fmt.Sprintf(`{"folder_name":%q}`, folder))
		}
		w.WriteField("file_metadata", "["+strings.Join(metadata, ",")+"]")
	}, header...)
	return resp.StatusCode, body, resp.Header.Get("Retry-After")
}

// unique is part of each file's content, so that no two files are equal.
var unique atomic.Int64

// refusedBy checks that an upload was refused with 413, that the error contains all wanted
// words, and that no file of it is staged.
func (s *service) refusedBy(what string, status int, body string, wants ...string) {
	s.Helper()
	for _, want := range wants {
		if status != 413 || !strings.Contains(body, want) {
			s.Errorf("%s = %d %s, want 413 with %q", what, status, body, want)
		}
	}
	if staged, _ := s.stored(); staged > 0 {
		s.Errorf("%s leaves %d uploads", what, staged)
	}
}

func (s *service) head() events.Position {
	head, err := s.log.Head(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return head
}

func TestUploadsBeyondLimits(t *testing.T) {
	s := limit(t, quota.Limits{quota.Bytes: 250_000, quota.Documents: 4, quota.Folders: 2}, quota.Limits{quota.Bytes: 200_000})
	if status, body, _ := s.put("A", []int{40_000}); status != 200 {
		t.Fatalf("%d %s", status, body)
	} else {
		s.finish(decode[jobReply](t, body).JobID)
	}
	before := s.head()
	_, kept := s.stored()
	for what, c := range map[string]struct {
		folder string
		sizes  []int
		words  string
	}{
		"too many bytes":         {"B", []int{60_000, 40_000}, `{"detail":"you have 157 KiB stored and in progress, and the limit is 244 KiB: there is room for 87 KiB more`},
		"too many documents":     {"A", []int{10, 10, 10, 10}, "you have 1 documents, including files in progress, and the limit is 4: there is room for 3 more"},
		"too many folders":       {"A/B/C", []int{10}, "you have 1 folders"},
		"too much in one folder": {"A", []int{45_000}, `there is no room for 44 KiB more in folder \"A\", whose limit is 195 KiB including all folders below it`},
	} {
		status, body, _ := s.put(c.folder, c.sizes)
		s.refusedBy(what, status, body, c.words)
	}
	id := decode[[]struct{ ID string }](t, second(s.do("GET", "/vault/documents?folderId="+s.folderNamed("A"), "")))[0].ID
	for what, size := range map[string]int{"a revision beyond the user's bytes": 95_000, "a revision beyond the folder's": 45_000} {
		resp, body := s.do("PUT", "/vault/documents/"+id+"/content", strings.Repeat("oil lamp ", size/9), "If-Match", `"1"`, "Content-Type", "text/plain")
		s.refusedBy(what, resp.StatusCode, body, `"statusCode":413`, "there is")
	}
	if after := s.head(); after != before {
		t.Errorf("refused requests moved the head of the log from %d to %d", before, after)
	}
	if _, now := s.stored(); now != kept {
		t.Errorf("refused requests left %d originals, want %d", now, kept)
	}
	// Administrators have no limits, and bob's usage does not include alice's.
	for _, who := range []string{"admin", "bob"} {
		if status, body, _ := s.put("of "+who, []int{45_000}, "Authorization", "Bearer "+who); status != 200 {
			t.Errorf("%s is refused: %d %s", who, status, body)
		}
	}
	// The bytes of a deleted document count until its original is swept. Otherwise a user
	// could fill the disk by uploading and deleting.
	resp, body := s.do("DELETE", "/vault/documents/"+id+"?version=1", "")
	if resp.StatusCode != 204 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	s.passUsage()
	status, body, _ := s.put("A", []int{95_000})
	s.refusedBy("an upload of the size of the deleted document", status, body, "Deleted documents and failed files count for up to 30 more hours")
	if status, body, _ := s.put("A", []int{100}); status != 200 {
		t.Errorf("an upload that fits beside it = %d %s", status, body)
	}
	_, text := s.do("GET", "/metrics", "")
	for _, want := range []string{`{limit="documents"} 1`, `{limit="folders"} 1`, `{limit="bytes"} 5`} {
		if !strings.Contains(text, "annals_quota_refusals_total"+want) {
			t.Errorf("the metrics have no %s: %q", want, regexp.MustCompile(`annals_quota_refusals_total.*`).FindAllString(text, -1))
		}
	}
}

func second[A, B any](_ A, b B) B { return b }

// passUsage waits until the read model usage has applied the whole log.
func (s *service) passUsage() {
	s.Helper()
	if err := s.server.Queries.(*queries.Queries).Models.Usage.Wait(s.Context(), s.head()); err != nil {
		s.Fatal(err)
	}
}

// folderNamed returns the id of the top-level folder with a name.
func (s *service) folderNamed(name string) string {
	s.Helper()
	all := decode[[]struct{ ID, Name string }](s.T, second(s.do("GET", "/vault/folders", "")))
	for _, f := range all {
		if f.Name == name {
			return f.ID
		}
	}
	s.Fatalf("no folder %s in %v", name, all)
	return ""
}

// An upload without an end is cut off when the user's quota is used up.
func TestEndlessUploadIsCutOff(t *testing.T) {
	s := limit(t, quota.Limits{quota.Bytes: 1 << 20}, quota.Limits{})
	resp, body := s.upload("", func(w *multipart.Writer) {
		part, _ := w.CreateFormFile("files", "endless.txt")
		part.Write(bytes.Repeat([]byte("lamp oil "), 20<<20/9))
	})
	s.refusedBy("20 MiB", resp.StatusCode, body, "there is room for 1.0 MiB more, and this request takes more than that")
	if _, kept := s.stored(); kept > 0 {
		t.Errorf("%d originals are kept", kept)
	}
}

// unread is a reader that fails the test if it is read.
type unread struct{ *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.Error("the content of a refused file is read")
	return 0, io.EOF
}

// Files that exceed a quota are refused before they are stored.
func TestFilesBeyondLimitsAreNotStored(t *testing.T) {
	for _, kind := range []quota.Kind{quota.Imports, quota.Documents} {
		var limits quota.Limits
		limits[kind] = 2
		s := limit(t, limits, quota.Limits{})
		hold, err := s.server.Commands.HoldImport(t.Context(), events.User{Principal: "user:alice"})
		if err != nil {
			t.Fatal(err)
		}
		in := ingest.Intake{Store: s.server.Originals, FileBytes: 1000, Hold: hold}
		for i, text := range []string{"a", "", "b"} {
			if err := in.Add(t.Context(), fmt.Sprint(i, ".txt"), strings.NewReader(text)); err != nil {
				t.Fatalf("file %d: %v", i, err)
			}
		}
		if err := in.Add(t.Context(), "c.txt", unread{t}); !fault.Is(err, fault.TooLarge) {
			t.Errorf("a third file with a limit of two %s: %v", kind, err)
		}
		if err := in.Discard(); err != nil {
			t.Error(err)
		}
	}
}

// The text of a document counts against the quota. If the text does not fit, the file fails
// and no text is stored.
func TestTextBeyondQuota(t *testing.T) {
	for what, limits := range map[string][2]quota.Limits{"user": {{quota.Bytes: 12_000}, {}}, "folder": {{}, {quota.Bytes: 12_000}}} {
		s := limit(t, limits[0], limits[1])
		_, body, _ := s.put("A", []int{2_000})
		s.finish(decode[jobReply](t, body).JobID)
		s.passUsage()
		_, body, _ = s.put("A", []int{2_000})
		j := s.finish(decode[jobReply](t, body).JobID)
		if j.Failed != 1 || !strings.Contains(j.Results[0].Error, "there is no room for the file's text, which takes 6.") {
			t.Errorf("a text beyond the limit of the %s = %+v, want a failed file", what, j)
		}
		texts := 0
		for _, e := range s.events() {
			if _, ok := e.Data.(events.SectionExtracted); ok {
				texts++
			}
		}
		if texts != 1 {
			t.Errorf("the log has %d sections, want 1 of the first file", texts)
		}
	}
}

// A user who uploads and deletes files in turn never stores more bytes than the quota.
func TestDeletedUploadsCount(t *testing.T) {
	s := limit(t, quota.Limits{quota.Bytes: 50_000}, quota.Limits{})
	rounds := 0
	for ; rounds < 20; rounds++ {
		status, body, _ := s.put("A", []int{5_000})
		if status == 413 {
			break
		}
		j := s.finish(decode[jobReply](t, body).JobID)
		if j.Failed > 0 {
			break
		}
		if resp, body := s.do("DELETE", "/vault/documents/"+j.Results[0].DocumentID+"?version=1", ""); resp.StatusCode != 204 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		s.passUsage()
	}
	if rounds != 2 {
		t.Errorf("%d uploads of 5,000 bytes, which take 21,000 with their text, were stored under a limit of 50,000", rounds)
	}
	if _, body := s.do("GET", "/vault/usage", ""); !strings.Contains(body, `"deleted":4`) {
		t.Errorf("the usage has no deleted bytes: %s", body)
	}
}

// A file that is refused because of its folder's name leaves no original.
func TestRefusedFileLeavesNoOriginal(t *testing.T) {
	s := limit(t, quota.Limits{quota.Bytes: 1000}, quota.Limits{})
	s.makeFolder("", "Contracts")
	status, body, _ := s.put("Contract\u0455", []int{100}) // with a Cyrillic letter
	if j := decode[jobReply](t, body); status != 200 || j.Failed != 1 {
		t.Fatalf("%d %s", status, body)
	}
	if staged, kept := s.stored(); staged+kept > 0 {
		t.Errorf("%d staged files and %d originals are left, want none", staged, kept)
	}
}

// Of twenty concurrent uploads, only as many succeed as fit in the quota.
func TestConcurrentUploadsRespectQuota(t *testing.T) {
	s := limit(t, quota.Limits{quota.Bytes: 100_000, quota.Documents: 1000}, quota.Limits{})
	var all sync.WaitGroup
	var passed atomic.Int64
	for range 20 {
		all.Go(func() {
			switch status, body, _ := s.put("A", []int{30_000}); status {
			case 200:
				passed.Add(1)
			case 413:
			default:
				t.Errorf("%d %s", status, body)
			}
		})
	}
	all.Wait()
	files, _ := s.accepted()
	var stored int64
	for _, f := range files {
		stored += f.Size
	}
	if passed.Load() != 3 || stored != 90_000 {
		t.Errorf("%d uploads pass with %d bytes, want 3 with 90,000", passed.Load(), stored)
	}
}

// The number of files that wait for their import is limited. The refusal says when to try
// again.
func TestImportsInProgressAreLimited(t *testing.T) {
	release := make(chan struct{})
	s := limit(t, quota.Limits{quota.Imports: 3}, quota.Limits{}, func(h *httpd.Server) { h.Originals = heldOriginals{h.Originals, release} })
	if status, body, _ := s.put("A", []int{10, 10, 10, 10}); status != 413 || !strings.Contains(body, "files in progress") {
		t.Errorf("more files than the limit = %d %s, want 413", status, body)
	}
	status, body, _ := s.put("A", []int{60_000, 60_000})
	if status != 200 {
		t.Fatalf("two files = %d %s", status, body)
	}
	first := decode[jobReply](t, body).JobID
	status, body, after := s.put("A", []int{60_000, 60_000})
	if status != 429 || after != "15" || !strings.Contains(body, "the limit is 3") {
		t.Errorf("two more files = %d %s, Retry-After %q", status, body, after)
	}
	close(release)
	if j := s.finish(first); j.Failed > 0 {
		t.Errorf("an accepted file failed: %+v", j)
	}
	for status = 429; status == 429; { // until the read model usage has applied the end of the imports
		status, body, _ = s.put("A", []int{60_000, 60_000})
	}
	if status != 200 || s.finish(decode[jobReply](t, body).JobID).Failed > 0 {
		t.Errorf("two files after those = %d %s", status, body)
	}
}

func TestFoldersAndSharesBeyondLimits(t *testing.T) {
	s := limit(t, quota.Limits{quota.Folders: 2, quota.Shares: 3}, quota.Limits{quota.Bytes: 1000})
	folder := s.makeFolder("", "A")
	below := s.makeFolder(folder, "B")
	resp, body := s.do("POST", "/vault/folders", `{"name":"C","parentFolderId":null}`)
	s.refusedBy("a third folder", resp.StatusCode, body, `"message":"you have 2 folders`, `"statusCode":413`)

	entries := func(names ...string) string {
		for i, n := range names {
			names[i] = `{"principal":"user:` + n + `","access":"read"}`
		}
		return `{"permissions":[` + strings.Join(names, ",") + `]}`
	}
	s.share(folder, "user:bob", "read", "user:carol", "read")
	resp, body = s.do("PUT", "/vault/folders/"+below+"/permissions", entries("bob", "carol"))
	s.refusedBy("a fourth entry", resp.StatusCode, body, "you have 2 entries in permission lists")
	s.share(folder, "user:bob", "write", "user:carol", "read") // the same number of entries
	s.share(folder, "user:bob", "read")
	s.share(below, "user:bob", "read", "user:carol", "read")
	if resp, body := s.do("DELETE", "/vault/folders/"+below+"?recursive=true", ""); resp.StatusCode != 204 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	other := s.makeFolder("", "C") // there is quota again
	s.share(other, "user:bob", "read", "user:carol", "read")
}

// keeps returns the number of bytes by which the only document counts against the quota: the
// size of its original, and three times the size of its text. It checks that the original has
// the given size.
func (s *service) keeps(size int64) int64 {
	s.Helper()
	for _, e := range s.events() {
		if d, ok := e.Data.(events.DocumentImported); ok {
			if d.Size != size || d.TextBytes < size || d.TextBytes > size+400 {
				s.Errorf("a document has %d bytes and %d bytes of text, want %d and slightly more", d.Size, d.TextBytes, size)
			}
			return d.Size + 3*d.TextBytes
		}
	}
	s.Fatal("there is no document")
	return 0
}

func TestUsageReply(t *testing.T) {
	s := limit(t, quota.Limits{quota.Bytes: 10_000, quota.Search: int64(30 * time.Second)}, quota.Limits{})
	policy := &quota.Policy{User: quota.Limits{quota.Bytes: 10_000, quota.Search: int64(30 * time.Second)}}
	s.server.Quotas = policy.Of
	s.file("A/B", "a.txt", strings.Repeat("a", 100))
	s.share(s.folderNamed("A"), "user:bob", "read")
	s.passUsage()
	resp, body := s.do("GET", "/vault/usage", "")
	s.want(resp, body, 200, `{"bytes":{"used":`+fmt.Sprint(s.keeps(100))+`,"inWork":0,"failed":0,"deleted":0,"limit":10000},"documents":{"used":1,"inWork":0,"limit":null},"folders":{"used":2,"inWork":0,"limit":null},
		"shares":{"used":1,"limit":null},"imports":{"used":0,"limit":null},"searchSeconds":{"used":0,"limit":30},"changeBytes":{"used":0,"limit":null}}`)
	resp, body = s.do("GET", "/vault/usage", "", "Authorization", "Bearer bob")
	if resp.StatusCode != 200 || !strings.Contains(body, `"bytes":{"used":0`) {
		t.Errorf("GET /vault/usage by bob, with whom it is shared = %d %s, want nothing used", resp.StatusCode, body)
	}
	if resp, body := s.do("GET", "/vault/usage", "", "Authorization", "Bearer admin"); resp.StatusCode != 200 || strings.Count(body, `"limit":null`) != 7 {
		t.Errorf("GET /vault/usage by an administrator = %d %s, want no limits", resp.StatusCode, body)
	}
}

// A document or folder that is moved to another top-level folder counts against the limits of
// that folder.
func TestMovesBeyondFolderLimit(t *testing.T) {
	s := limit(t, quota.Limits{}, quota.Limits{quota.Bytes: 2000, quota.Documents: 10})
	first := s.file("A/In", "a.txt", strings.Repeat("a", 80))
	second := s.file("B/Out", "b.txt", strings.Repeat("b", 80))
	s.passUsage()
	from := s.folderOf(second)
	move := func(id, to string) (int, string) {
		resp, body := s.do("PATCH", "/vault/documents/"+id, `{"folderId":"`+to+`","version":1}`)
		return resp.StatusCode, body
	}
	status, body := move(second, s.folderOf(first))
	s.refusedBy("a document", status, body, `no room for 1.3 KiB more in folder \"A\"`)
	resp, body := s.do("PATCH", "/vault/folders/"+from, `{"parentFolderId":"`+s.folderNamed("A")+`"}`)
	s.refusedBy("a folder", resp.StatusCode, body, `no room for 1.3 KiB more in folder \"A\"`)
	if status, body := move(second, s.folderNamed("B")); status != 200 {
		t.Errorf("a move within the folder = %d %s", status, body)
	}
	if resp, body := s.do("PATCH", "/vault/folders/"+from, `{"parentFolderId":"`+s.folderNamed("A")+`"}`); resp.StatusCode != 200 {
		t.Errorf("the move of an empty folder = %d %s", resp.StatusCode, body)
	}
}

// A failed file counts against the quota until its original is swept. A duplicate does not
// count.
func TestFailedFilesCount(t *testing.T) {
	s := limit(t, quota.Limits{quota.Bytes: 10_000}, quota.Limits{})
	upload := func(name, text string) jobReply {
		resp, body := s.upload("", func(w *multipart.Writer) { addFile(w, name, text) })
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		return s.finish(decode[jobReply](t, body).JobID)
	}
	if j := upload("a.docx", strings.Repeat("no Word at all ", 400)); j.Failed != 1 {
		t.Fatalf("%+v", j)
	}
	upload("a.txt", strings.Repeat("a", 100))
	if j := upload("a.txt", strings.Repeat("a", 100)); !j.Results[0].Duplicate {
		t.Fatalf("%+v", j)
	}
	s.passUsage()
	u, err := s.server.Queries.(*queries.Queries).Usage(t.Context(), "user:alice")
	if want := (queries.Usage{Bytes: s.keeps(100), Documents: 1, Folders: 2, FailedBytes: 6000}); err != nil || u.Bytes != want.Bytes || u.FailedBytes != want.FailedBytes || u.Documents != want.Documents || u.Imports != 0 {
		t.Errorf("usage %+v (%v), want %+v", u, err, want)
	}
	status, body, _ := s.put("A", []int{3000})
	s.refusedBy("an upload beside failed files", status, body, "failed files count for up to 30 more hours")
}
