package http_test

import (
	"fmt"
	"strings"
	"testing"

	"annals/projections/generation"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// Documents that the caller may not read never affect a reply to a search or question, not
// even the scores, the order or the confidence.
func TestHiddenDocumentsChangeNoReply(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { testHidden(t, startStack(t)) })
	t.Run("meilisearch", func(t *testing.T) {
		engines, err := meilisearch.Kind.Open(meilisearchtest.New(t).URL("test-"), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { engines.Close() })
		testHidden(t, startStackOver(t, func(o *generation.Options) { o.Search = engines }))
	})
}

func testHidden(t *testing.T, s *service) {
	s.token = "bob"
	s.file("Bob/Staff", "handbook.md", handbook, "hr")
	s.file("Bob", "offices.md", "# Offices\n\nThe supplier delivers to the office. The office closes at noon on Fridays.\n\n## Heating\n\nThe contract ends in ninety days.\n")
	ask := func() string {
		t.Helper()
		s.token = "bob"
		var all strings.Builder
		for _, request := range [][2]string{
			{"search", `{"query":"How long is the notice period of the supplier contract?"}`},
			{"search", `{"query":"supplier contract holidays", "folder_name":"Bob/Staff"}`},
			{"search", `{"query":"office supplier", "tags":["hr"]}`},
			{"ask", `{"query":"How long is the notice period of the supplier contract?"}`},
			{"ask", `{"query":"When does the office close?", "folder_name":"Bob"}`},
		} {
			resp, body := s.do("POST", "/core/"+request[0], request[1])
			if resp.StatusCode != 200 || request[0] == "search" && !strings.Contains(body, "score") {
				t.Fatalf("%s %s = %d %s", request[0], request[1], resp.StatusCode, body)
			}
			all.WriteString(body + "\n")
		}
		return all.String()
	}
	before := ask()
	s.token = "alice"
	var hidden []string
	for i := range 4 {
		hidden = append(hidden, s.file("Alice", fmt.Sprintf("hidden%d.md", i), strings.Repeat("The notice period of the supplier contract ends on Fridays. ", 3+i), "hr"))
	}
	if after := ask(); after != before {
		t.Errorf("replies changed after hidden imports to\n%s\nfrom\n%s", after, before)
	}
	s.token = "alice"
	for _, id := range hidden[:3] {
		if resp, body := s.do("DELETE", "/vault/documents/"+id+"?version=1", ""); resp.StatusCode != 204 {
			t.Fatalf("delete: %d %s", resp.StatusCode, body)
		}
	}
	s.file("Alice", "last.md", "Another text.") // waits until the index has applied the deletions
	if after := ask(); after != before {
		t.Errorf("replies changed after hidden deletions to\n%s\nfrom\n%s", after, before)
	}
}
