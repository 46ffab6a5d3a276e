package http_test

import (
	"fmt"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"annals/projections/generation"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// While the search engine is unreachable, files can be imported, and searches and jobs report
// the outage. When the engine is reachable again, the files are found.
func TestUnreachableSearchEngine(t *testing.T) {
	server := meilisearchtest.New(t)
	server.Vanish()
	engines, err := meilisearch.Kind.Open(server.URL("test-"), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engines.Close() })
	s := startStackOver(t, func(o *generation.Options) { o.Search = engines })
	for i := range 2 { // the engine is unreachable at startup, and again later
		job := s.importDuringOutage(fmt.Sprintf("parrot%d", i))
		server.Answer()
		s.finish(job)
		resp, body := s.do("POST", "/core/search", fmt.Sprintf(`{"query":"parrot%d"}`, i))
		if resp.StatusCode != 200 || !strings.Contains(body, fmt.Sprintf("parrot%d is", i)) {
			t.Errorf("search after the outage = %d %s", resp.StatusCode, body)
		}
		server.Vanish()
	}
}

// importDuringOutage imports a file that contains word while the search engine is unreachable.
// It waits until the document can be read, and returns the job.
func (s *service) importDuringOutage(word string) (job string) {
	s.Helper()
	const sentence = "the search engine does not respond at the moment"
	resp, body := s.upload("", func(w *multipart.Writer) { addFile(w, word+".md", "# Birds\n\nThe "+word+" is a bird.\n") })
	if resp.StatusCode != 200 {
		s.Fatalf("import: %d %s", resp.StatusCode, body)
	}
	job = decode[jobReply](s.T, body).JobID
	var document string
	for tick := time.NewTicker(20 * time.Millisecond); !strings.Contains(body, sentence); <-tick.C {
		_, body = s.do("GET", "/core/jobs/"+job, "")
		if j := decode[jobReply](s.T, body); len(j.Results) > 0 {
			document = j.Results[0].DocumentID
		}
	}
	if resp, body := s.do("GET", "/vault/documents/"+document+"/markdown", ""); resp.StatusCode != 200 || !strings.Contains(body, word) {
		s.Errorf("GET markdown during the outage = %d %s", resp.StatusCode, body)
	}
	if resp, body := s.do("GET", "/readyz", ""); resp.StatusCode != 200 {
		s.Errorf("GET /readyz during the outage = %d %s", resp.StatusCode, body)
	}
	if resp, body := s.do("POST", "/core/search", `{"query":"`+word+`"}`); resp.StatusCode != 503 || !strings.Contains(body, sentence) {
		s.Errorf("search during the outage = %d %s", resp.StatusCode, body)
	}
	return job
}
