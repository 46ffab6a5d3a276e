package search_test

import (
	"strings"
	"testing"

	"annals/queries/search"

	"github.com/google/uuid"
)

func TestAskAboutOneDocument(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	north := f.AddDocument(top, "north.md", nil, "The lighthouse in the north was finished in 1759 by John Smeaton.")
	south := f.AddDocument(top, "south.md", nil, "The lighthouse in the south was finished in 1811 by Robert Stevenson.")
	f.Settle()
	for id, want := range map[uuid.UUID]string{north: "Smeaton", south: "Stevenson"} {
		q := search.Query{Query: "Who finished the lighthouse?", Document: id}
		if a, err := f.search.Ask(t.Context(), alice, search.Question{Search: q}); err != nil || !strings.Contains(a.Text, want) {
			t.Errorf("Ask(alice, %s) = %+v, %v, want %s", id, a, err, want)
		} else if len(a.Sources) != 1 || a.Sources[0].Document != id || !strings.Contains(a.Sources[0].Text, want) || a.Sources[0].DeepLink == "" {
			t.Errorf("Ask(alice, %s): got sources %+v", id, a.Sources)
		}
		if a, err := f.search.Ask(t.Context(), bob, search.Question{Search: q}); err != nil || a.Confidence >= 0.3 || strings.Contains(a.Text, want) || len(a.Sources) > 0 {
			t.Errorf("Ask(bob, %s) = %+v, %v, want no answer", id, a, err)
		}
	}
}
