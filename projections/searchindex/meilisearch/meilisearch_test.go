package meilisearch_test

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"annals/projections/searchindex"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
	"annals/projections/searchindex/searchindextest"

	"github.com/google/uuid"
)

// realServer opens the server at the URL in ANNALS_TEST_MEILISEARCH, with a random prefix
// for the test. It skips the test if the variable is empty.
func realServer(t testing.TB) *meilisearch.Server {
	t.Helper()
	text := os.Getenv("ANNALS_TEST_MEILISEARCH")
	if text == "" {
		t.Skip("ANNALS_TEST_MEILISEARCH is empty: set it to the URL of a server")
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal("ANNALS_TEST_MEILISEARCH is not a URL")
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
	t.Cleanup(func() { s.Close() })
	return s
}

// indexes returns a function that opens indexes of a server, which are removed at the
// end of the test.
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

// TestEngineOverStub is TestEngine on a stub, which ranks only by the number of words.
func TestEngineOverStub(t *testing.T) {
	searchindextest.Run(t, indexes(open(t, meilisearchtest.New(t).URL("test-"))))
}

func TestStore(t *testing.T) {
	searchindextest.RunStore(t, meilisearch.Kind, meilisearchtest.New(t).URL("store-"))
}

func TestMisspeltWordsAreFound(t *testing.T) {
	s := realServer(t)
	x := indexes(s)(t, "a")
	err := x.Apply(t.Context(), searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Text: "the lighthouse keeper counts ships"}, {ID: "2", Text: "a keeper of bees"}, {ID: "3", Text: "a meadow of poppies"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"lihgthouse": "1", "ligthouse keeper": "1 2", "meadwo": "3", "shipz": "1", "ship": "1", "kepe": ""} {
		hits, err := x.Search(t.Context(), searchindex.Query{Text: text, All: true})
		var got []string
		for _, h := range hits {
			got = append(got, h.ID)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("Search(%s) = %v, %v, want %s", text, hits, err, want)
		}
	}
}
