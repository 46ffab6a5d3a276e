package conditional

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"annals/http/problem"
)

func TestTags(t *testing.T) {
	a, b := []byte(`{"a":1}`), []byte(`{"a":2}`)
	for name, tag := range map[string]struct {
		tag    Tag
		prefix string
		ofBody bool // the ETag changes with the body
	}{
		"Weak":        {Weak, `W/"`, true},
		"Document":    {Document(7), `"7"`, false},
		"Folder":      {Folder(7), `"7.`, true},
		"Permissions": {Permissions(7), `"7"`, false},
	} {
		if got := tag.tag(a); !strings.HasPrefix(got, tag.prefix) || !strings.HasSuffix(got, `"`) || got != tag.tag(a) {
			t.Errorf("%s = %s, want a stable tag that begins with %s", name, got, tag.prefix)
		}
		if differs := tag.tag(a) != tag.tag(b); differs != tag.ofBody {
			t.Errorf("%s differs for another body: %t, want %t", name, differs, tag.ofBody)
		}
	}
}

func TestUnchanged(t *testing.T) {
	for _, c := range []struct {
		method, given string
		want          bool
	}{
		{"GET", `"1"`, true}, {"HEAD", `"1"`, true}, {"GET", `W/"1"`, true}, {"GET", "*", true}, {"GET", `"2", "1"`, true},
		{"GET", "", false}, {"GET", `"2"`, false}, {"GET", "1", false}, {"PUT", `"1"`, false}, {"POST", "*", false},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(c.method, "/", nil)
		r.Header.Set("If-None-Match", c.given)
		got := Unchanged(w, r, `"1"`)
		if got != c.want || got != (w.Code == http.StatusNotModified) || w.Header().Get("ETag") != `"1"` || w.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("Unchanged(%s with If-None-Match %s) = %t, status %d, header %v; want %t", c.method, c.given, got, w.Code, w.Header(), c.want)
		}
	}
}

func TestVersions(t *testing.T) {
	sum := strings.Repeat("0f", 32)
	bad := "0 [" + badIfMatch + "]"
	for _, c := range []struct {
		match                     []string
		folder, document, content string // expected versions and errors
	}{
		{nil, "-1 []", "0 [" + noVersion + "]", "0 [" + noIfMatch + "]"},
		{[]string{`"3"`}, "3 []", "3 []", "3 []"},
		{[]string{`"3.0f"`}, "3 []", bad, bad},
		{[]string{`"` + sum + `"`}, bad, bad, "0" + sum + " []"},
		{[]string{"*"}, bad, bad, bad},
		{[]string{`W/"3"`}, bad, bad, bad},
		{[]string{`"3"`, `"3"`}, bad, bad, bad},
		{[]string{`"0"`}, bad, bad, bad},
		{[]string{`"3000000000"`}, "3000000000 []", "2147483647 []", "2147483647 []"},
	} {
		h := http.Header{"If-Match": c.match}
		var wrong [3]problem.Rejected
		folder, document := FolderVersion(h, &wrong[0]), DocumentVersion(h, 0, false, &wrong[1])
		content, digest := ContentVersion(h, &wrong[2])
		check := func(name, got, want string) {
			if got != want {
				t.Errorf("%s of If-Match %s = %s, want %s", name, c.match, got, want)
			}
		}
		check("FolderVersion", fmt.Sprintf("%d %v", folder, []string(wrong[0])), c.folder)
		check("DocumentVersion", fmt.Sprintf("%d %v", document, []string(wrong[1])), c.document)
		check("ContentVersion", fmt.Sprintf("%d%s %v", content, digest, []string(wrong[2])), c.content)
	}
}

// If a request has a version in If-Match and in its body or query, both must be equal.
func TestDocumentVersionGivenTwice(t *testing.T) {
	for _, c := range []struct {
		match   string
		version int
		want    int
		wrong   []string
	}{
		{"", 2, 2, nil}, {`"2"`, 2, 2, nil}, {`"1"`, 2, 2, []string{versionsDiffer}},
		{`"1"`, 0, 1, nil}, // an invalid version, which its parser has reported
		{"1", 2, 0, []string{badIfMatch}},
	} {
		h := http.Header{}
		if c.match != "" {
			h.Set("If-Match", c.match)
		}
		var wrong problem.Rejected
		if got := DocumentVersion(h, c.version, true, &wrong); got != c.want || !slices.Equal(wrong, c.wrong) {
			t.Errorf("DocumentVersion(If-Match %s, %d) = %d, %q; want %d, %q", c.match, c.version, got, wrong, c.want, c.wrong)
		}
	}
}

func TestServeRanges(t *testing.T) {
	for given, want := range map[string]string{
		"": "200 0123456789", "bytes=2-4": "206 234", "bytes=-2": "206 89", "bytes=0-0,9-9": "206 ",
		"junk": "200 0123456789", "bytes=7-5": "200 0123456789", "bytes=10-": "416 bytes */10",
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Range", given)
		base := http.Header{"X-Request-Id": {"1"}}
		w.Header().Set("ETag", `"1"`)
		err := ServeRanges(w, r, base, strings.NewReader("0123456789"))
		got := fmt.Sprint(w.Code, " ", w.Body)
		if err != nil {
			var failed *problem.Error
			if !errors.As(err, &failed) || w.Header().Get("ETag") != "" || w.Header().Get("X-Request-Id") != "1" {
				t.Errorf("ServeRanges(%q) = %v with header %v, want a problem.Error and the given header", given, err, w.Header())
				continue
			}
			got = fmt.Sprint(failed.Status, " ", w.Header().Get("Content-Range"))
		} else if w.Header().Get("ETag") != `"1"` {
			t.Errorf("ServeRanges(%q) has no ETag", given)
		}
		if !strings.HasPrefix(got, want) || want[:3] == "200" && got != want {
			t.Errorf("ServeRanges(%q) = %s, want %s", given, got, want)
		}
	}
}
