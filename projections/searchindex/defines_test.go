package searchindex

import (
	"strings"
	"testing"
)

func TestRerankPrefersDefinitions(t *testing.T) {
	const other = "Whoever has leases renews each lease, and a lease of a lease."
	for _, test := range []struct{ query, text string }{
		{"What is a lease?", "| word | means |\n|---|---|\n| claim, lease | a right that expires |"},
		{"lease", "- **Lease:** a right that expires"},
		{"leases", "**Lease** is the name of a right that expires"},
		{"What does a lease do?", "Lease: it keeps other nodes away."},
		{"what is a lease", "A lease is a right that expires."},
		{"lease", "* A lease – a right that expires"},
	} {
		if got := order(Rerank(test.query, candidates(other, test.text))); got != "ba" {
			t.Errorf("Rerank for %q prefers %q to %q", test.query, other, test.text)
		}
	}
	for _, test := range []struct{ query, text string }{
		{"lease", "An expired lease: it is gone."},            // of something else
		{"lease", "- Take a lease:\n\n`annals lease`"},        // a command, whose name is longer
		{"lease", "Lease:"},                                   // defines nothing
		{"lease", "| lease |"},                                // nor does a table of one column
		{"who may renew a lease of nodes", "Lease: a right."}, // the query asks more
		{"the of", "The: an article"},
	} {
		r := newReranking(test.query, candidates(test.text))
		if r.defines(0, test.text) {
			t.Errorf("%q is taken for a definition of %q", test.text, test.query)
		}
	}
}

func FuzzDefines(f *testing.F) {
	for _, seed := range []string{"| a | b |", "**a** b", "- a: b", "A lease is a right", "|", "** **", strings.Repeat("a: ", 50)} {
		f.Add("What is a lease?", seed)
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		r := newReranking(query, candidates(text))
		if r.defines(0, text) && r.named > definedTerms {
			t.Fatalf("a query of %d words is taken for a question what something is", r.named)
		}
	})
}
