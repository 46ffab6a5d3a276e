package search_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"annals/endpoint/llm"
	"annals/endpoint/llm/llmtest"
	"annals/events"
	"annals/queries/answerlog"
	"annals/queries/compose"
	"annals/queries/search"

	"github.com/google/uuid"
)

// newComposingFixture returns a fixture with a document, and a language model that writes pieces.
func newComposingFixture(t *testing.T, pause time.Duration, pieces ...string) (f *fixture, document uuid.UUID) {
	t.Helper()
	f = newFixture(t)
	document = f.AddDocument(f.AddFolder(uuid.Nil, "Contracts", "user:alice"), "supply.md", nil, "The notice period is three months. The notice must be in writing.")
	f.Settle()
	e := llmtest.Start(t, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Pieces: pieces, Pause: pause} })
	model, err := llm.New(llm.Options{URL: e.URL, Model: "small"})
	if err != nil {
		t.Fatal(err)
	}
	records, err := answerlog.Open(t.Context(), filepath.Join(t.TempDir(), answerlog.File), answerlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { records.Close() })
	f.search.Composer, f.search.Answers = &compose.Composer{Model: model, Budget: records, Logger: slog.New(slog.DiscardHandler)}, records
	return f, document
}

// recorded returns the newest record of a user.
func (f *fixture) recorded(user events.User) answerlog.Record {
	f.t.Helper()
	all, _, err := f.search.AnswerRecords(f.t.Context(), user, uuid.Nil)
	if err != nil || len(all) == 0 {
		f.t.Fatalf("AnswerRecords = %v, %v", all, err)
	}
	r, err := f.search.Answers.Find(f.t.Context(), all[0].ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// What a language model was asked and wrote is recorded even if the user has gone meanwhile, and the user
// finds it.
func TestAskRecordsCanceledAnswers(t *testing.T) {
	f, _ := newComposingFixture(t, time.Hour, "The notice period is three months. [1]\n", "b")
	gone := errors.New("the user has gone")
	_, err := f.search.Ask(t.Context(), alice, search.Question{
		Search: search.Query{Query: "How long is the notice period?"}, Sentence: func(string) error { return gone },
	})
	if !errors.Is(err, gone) {
		t.Errorf("Ask: %v, want %v", err, gone)
	}
	if r := f.recorded(alice); r.Outcome != "canceled" || r.Usage.Input == 0 || r.Text.Answer != "The notice period is three months." || len(r.Text.Prompt) != 2 {
		t.Errorf("recorded %+v with %+v, want the sentence and the prompt", r, r.Text)
	}
}

// The record has what a user was shown, also if it was withdrawn after that, and nothing else.
func TestAskRecordsWhatWasShown(t *testing.T) {
	const first, second = "The notice period is three months.", "The notice must be in writing."
	for _, test := range []struct {
		name      string
		withdrawn string // after this sentence
		streams   bool
		want      string
	}{
		{"in the middle of a stream", first, true, first},
		{"at the end of a stream", second, true, first + " " + second},
		{"before a reply", "", false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, document := newComposingFixture(t, 0, first+" [1]\n", second+" [1]\n")
			withdraw := func() {
				f.Append(events.DocumentStream(document), events.DocumentDeleted{Version: 2})
				f.Settle()
			}
			q := search.Question{Search: search.Query{Query: "How long is the notice period?"}}
			if test.streams {
				q.Sentence = func(text string) error {
					if text == test.withdrawn {
						withdraw()
					}
					return nil
				}
			} else {
				q.Waiting = func() func() { return withdraw }
			}
			a, err := f.search.Ask(t.Context(), alice, q)
			if err != nil || a.Composed.Outcome != compose.Withdrawn || len(a.Sources) > 0 {
				t.Fatalf("Ask = %+v, %v, want nothing", a, err)
			}
			if r := f.recorded(alice); r.Outcome != "withdrawn" || r.ID != a.Composed.Record || r.Text.Answer != test.want {
				t.Errorf("recorded %s with %+v, want the answer %q", r.Outcome, r.Text, test.want)
			}
		})
	}
}

// Users find their own records, page by page, and administrators all.
func TestAnswerRecords(t *testing.T) {
	f, _ := newComposingFixture(t, 0, "NO ANSWER")
	const of = 60
	for i := range of {
		if _, err := f.search.Answers.Add(t.Context(), answerlog.Record{Actor: []events.Principal{"user:alice", "user:bob"}[i%2]}); err != nil {
			t.Fatal(err)
		}
	}
	count := func(user events.User) (n, pages int) {
		for before, more := uuid.Nil, true; more; more = before != uuid.Nil {
			all, next, err := f.search.AnswerRecords(context.Background(), user, before)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				if !user.Admin && r.Actor != user.Principal {
					t.Errorf("%s finds a record of %s", user.Principal, r.Actor)
				}
			}
			before = next
			n, pages = n+len(all), pages+1
		}
		return n, pages
	}
	for _, test := range []struct {
		user     events.User
		n, pages int
	}{{alice, of / 2, 1}, {eve, 0, 1}, {admin, of, 2}} {
		if n, pages := count(test.user); n != test.n || pages != test.pages {
			t.Errorf("%s finds %d records on %d pages, want %d on %d", test.user.Principal, n, pages, test.n, test.pages)
		}
	}
}
