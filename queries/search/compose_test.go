package search_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/endpoint/llm"
	"annals/endpoint/llm/llmtest"
	"annals/queries/answerlog"
	"annals/queries/compose"
	"annals/queries/search"

	"github.com/google/uuid"
)

// What a language model was asked and wrote is recorded even if the user has gone meanwhile.
func TestAskRecordsCanceledAnswers(t *testing.T) {
	f := newFixture(t)
	f.AddDocument(f.AddFolder(uuid.Nil, "Contracts", "user:alice"), "supply.md", nil, "The notice period is three months.")
	f.Settle()
	e := llmtest.Start(t, func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Pieces: []string{"The notice period is three months. [1]\n", "b"}, Pause: time.Hour}
	})
	model, err := llm.New(llm.Options{URL: e.URL, Model: "small"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), answerlog.File)
	records, err := answerlog.Open(t.Context(), path, answerlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	f.search.Composer, f.search.Answers = &compose.Composer{Model: model, Budget: records, Logger: slog.New(slog.DiscardHandler)}, records
	gone := errors.New("the user has gone")
	_, err = f.search.Ask(t.Context(), alice, search.Question{
		Search: search.Query{Query: "How long is the notice period?"}, Sentence: func(string) error { return gone },
	})
	if !errors.Is(err, gone) {
		t.Errorf("Ask: %v, want %v", err, gone)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var outcome, body string
	var tokens int
	if err := db.QueryRow(`SELECT outcome, input_tokens, body FROM answers`).Scan(&outcome, &tokens, &body); err != nil || outcome != "canceled" || tokens == 0 ||
		!strings.Contains(body, `"answer":"The notice period is three months."`) || !strings.Contains(body, `"prompt":[{`) {
		t.Errorf("recorded %s with %d tokens: %s, %v", outcome, tokens, body, err)
	}
}
