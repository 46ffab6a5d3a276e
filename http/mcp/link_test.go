package mcp_test

import (
	"net/url"
	"strings"
	"testing"

	"annals/http/mcp"
)

// Agents get an address to cite, which a person can open, and the instruction to do so.
func TestAgentsCiteAnAddress(t *testing.T) {
	s := start(t, func(o *mcp.Options) { o.LinkURL = &url.URL{Scheme: "https", Host: "annals.example"} })
	ids := s.file("alice", paper{"Staff", "handbook.md", handbook, nil})
	a := s.connect("alice")
	want := "https://annals.example/documents/" + ids[0] + ".md"
	for tool, in := range map[string]args{
		"search": {"query": "notice period"}, "ask": {"query": "How long is the notice period?"}, "get_document_metadata": {"document_id": ids[0]},
	} {
		var out struct {
			URL     string
			Sources []struct{ URL string }
		}
		text := a.ok(tool, in, &out)
		if !strings.Contains(text, want) || out.URL != want && (len(out.Sources) == 0 || out.Sources[0].URL != want) {
			t.Errorf("%s = %s, %+v; want the address %s", tool, text, out, want)
		}
	}
	if got := a.InitializeResult().Instructions; !strings.Contains(got, "page and url") {
		t.Errorf("the instructions do not say what to cite: %s", got)
	}
}
