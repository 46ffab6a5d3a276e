package meilisearch_test

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"annals/projections/searchindex"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
	"annals/projections/searchindex/searchindextest"
)

// realServer opens the server that ANNALS_TEST_MEILISEARCH names, with a prefix
// of the test's own. It skips the test where none is named.
func realServer(t testing.TB) *meilisearch.Server {
	t.Helper()
	text := os.Getenv("ANNALS_TEST_MEILISEARCH")
	if text == "" {
		t.Skip("ANNALS_TEST_MEILISEARCH names no server")
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal("ANNALS_TEST_MEILISEARCH is no URL")
	}
	query := u.Query()
	query.Set("prefix", query.Get("prefix")+uuid.NewString()+"-")
	u.RawQuery = query.Encode()
	return open(t, u.String())
}

func open(t testing.TB, text string) *meilisearch.Server {
	t.Helper()
	s, err := meilisearch.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// indexes opens indexes of a server for the suite, and removes them at the end.
func indexes(s *meilisearch.Server) searchindextest.Open {
	return func(t testing.TB, name string) searchindex.Engine {
		generation := strings.NewReplacer("/", "-", ",", "").Replace(t.Name()) + "-" + name
		t.Cleanup(func() {
			if err := s.Remove(context.Background(), generation); err != nil {
				t.Errorf("Remove: %v", err)
			}
		})
		return s.Index(generation)
	}
}

func TestEngine(t *testing.T) {
	searchindextest.Run(t, indexes(realServer(t)))
}

// TestEngineOverStub is TestEngine where no server is at hand: the small one
// knows no typing mistakes and ranks by words alone.
func TestEngineOverStub(t *testing.T) {
	searchindextest.Run(t, indexes(open(t, meilisearchtest.New(t).URL("test-"))))
}
