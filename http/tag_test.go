package http_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"testing"
)

// Tags are found however they were typed; what cannot be a tag is passed on as
// it is, since dropping it would widen the question.
func TestAskedTagsAreNormalized(t *testing.T) {
	s := start(t, nil)
	given := []string{"e\u0301t", " sp ", "plain", " ", "a\nb"}
	want := []string{"\u00e9t", "sp", "plain", " ", "a\nb"}
	body, err := json.Marshal(map[string]any{"query": "who?", "tags": given})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/core/search", "/core/ask"} {
		s.library.asked.Tags = nil
		if resp, reply := s.do("POST", path, string(body)); resp.StatusCode != 200 || !slices.Equal(s.library.asked.Tags, want) {
			t.Errorf("%s = %d %s, asked for %q, want %q", path, resp.StatusCode, reply, s.library.asked.Tags, want)
		}
	}
	for i, tag := range given {
		resp, reply := s.do("GET", "/vault/documents?tag="+url.QueryEscape(tag), "")
		if resp.StatusCode != 200 || s.library.filter.Tag != want[i] {
			t.Errorf("tag %q = %d %s, asked for %q, want %q", tag, resp.StatusCode, reply, s.library.filter.Tag, want[i])
		}
	}
}
