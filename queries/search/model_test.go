package search_test

import (
	"os"
	"testing"
	"time"

	"annals/projections/embeddings"
	"annals/queries/queriestest"
	"annals/queries/search"

	"github.com/google/uuid"
)

// With a real model, a search finds what is said in other words. Run it by make
// test-embeddings.
func TestHybridWithModel(t *testing.T) {
	url := os.Getenv("ANNALS_TEST_EMBEDDINGS")
	if url == "" {
		t.Skip("no endpoint in ANNALS_TEST_EMBEDDINGS: make test-embeddings starts one")
	}
	settings := embeddings.Settings{URL: url, Model: "bge-small-en-v1.5", Dimensions: 384, QueryTime: time.Minute}
	if err := settings.Check(); err != nil {
		t.Fatal(err)
	}
	client := embeddings.New(settings, nil)
	w := queriestest.OpenWithEmbedder(t, client)
	f := &fixture{w, &search.Searcher{Models: w.Models, Embedder: client}, t}
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	questions := map[string]string{
		"How do I get my money back?":        "Refunds are paid to the card that was charged, within two weeks.",
		"vehicle for two riders":             "The tandem bicycle has two saddles and costs 900 euros.",
		"Who looks after sick animals?":      "The veterinary clinic treats dogs, cats and horses.",
		"frozen water on the road":           "Black ice makes bridges slippery before dawn.",
		"my laptop does not turn on":         "If the notebook fails to boot, hold the power key for ten seconds.",
		"when may pupils stay at home":       "School is closed from the first of July to the end of August.",
		"doctor for teeth":                   "The dentist is on the third floor.",
		"what to do if somebody breaks in":   "After a burglary, touch nothing and call the police.",
		"salary for additional hours worked": "Overtime is remunerated at one and a half times the usual wage.",
	}
	documents := make(map[string]uuid.UUID)
	for question, text := range questions {
		documents[question] = f.AddDocument(home, "a.md", nil, text)
	}
	f.settleVectors()
	words := &fixture{w, &search.Searcher{Models: w.Models}, t}
	better := 0
	for question, document := range documents {
		f.first(alice, search.Query{Query: question}, document)
		if sources, err := words.search.Search(t.Context(), alice, search.Query{Query: question}); err != nil {
			t.Fatal(err)
		} else if len(sources) == 0 || sources[0].Document != document {
			better++
		}
	}
	if better == 0 {
		t.Error("words alone find all of it: the test shows nothing")
	}
}
