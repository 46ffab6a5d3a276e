package answerlog_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/endpoint/llm"
	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/queries/answerlog"

	"github.com/google/uuid"
)

// each runs a test with a log in a file and, where PostgreSQL is, with one there.
func each(t *testing.T, o answerlog.Options, test func(t *testing.T, l *answerlog.Log)) {
	t.Run("file", func(t *testing.T) {
		l, err := answerlog.Open(t.Context(), filepath.Join(t.TempDir(), answerlog.File), o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		test(t, l)
	})
	t.Run("postgres", func(t *testing.T) {
		d, err := sqldb.ParsePostgres(postgrestest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		l, err := answerlog.OpenShared(t.Context(), d, o, true)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		test(t, l)
	})
}

// A database that an older program has set up gets the index that it lacks.
func TestOlderDatabase(t *testing.T) {
	d, err := sqldb.ParsePostgres(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	open := func() *answerlog.Log {
		t.Helper()
		l, err := answerlog.OpenShared(t.Context(), d, answerlog.Options{}, true)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	id := add(t, l, record(uuid.New()))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db := d.OpenDB("answers", 1, nil)
	defer db.Close()
	if _, err := db.Exec(t.Context(), `DROP INDEX answers_actor`); err != nil {
		t.Fatal(err)
	}
	l = open()
	defer l.Close()
	if has, err := db.Has(t.Context(), "answers_actor"); !has || err != nil {
		t.Errorf("the index exists: %v, %v, want true", has, err)
	}
	if _, err := l.Find(t.Context(), id); err != nil {
		t.Errorf("Find: %v", err)
	}
}

func record(documents ...uuid.UUID) answerlog.Record {
	return answerlog.Record{
		Actor: "user:alice", Correlation: "c1", Model: "small", Outcome: "composed", Usage: llm.Usage{Input: 10, Output: 2, Cost: 0.25}, Question: "Why?", Documents: documents,
		Text: &answerlog.Text{
			Prompt: []llm.Message{{Role: "system", Content: "Rules"}, {Role: "user", Content: `{"question":"Why?\u0000"}`}},
			Reply:  "Because. [1]", Answer: "Because.", Dropped: 1,
			Passages: []answerlog.Passage{{ID: "p", Document: documents[0], Title: "T", Section: "S", Page: 3}},
		},
	}
}

func add(t *testing.T, l *answerlog.Log, r answerlog.Record) uuid.UUID {
	t.Helper()
	id, err := l.Add(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRecords(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	o := answerlog.Options{Retention: 48 * time.Hour, Now: func() time.Time { return now }}
	each(t, o, func(t *testing.T, l *answerlog.Log) {
		live, gone := uuid.MustParse("00000000-0000-4000-8000-000000000001"), uuid.MustParse("00000000-0000-4000-8000-000000000002")
		first, second := add(t, l, record(live)), add(t, l, record(live, gone))
		want := record(live)
		want.ID, want.Time = first, now
		if got, err := l.Find(t.Context(), first); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Find = %+v, %v, want %+v", got, err, want)
		}
		if _, err := l.Find(t.Context(), uuid.New()); !fault.Is(err, fault.NotFound) {
			t.Errorf("Find of an unknown record: %v", err)
		}
		exist := func(_ context.Context, documents []string) (map[string]bool, error) {
			return map[string]bool{live.String(): true}, nil
		}
		if err := l.Sweep(t.Context(), exist); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Find(t.Context(), second); err != nil || got.Text != nil || got.Usage != want.Usage {
			t.Errorf("the record of a deleted document is %+v, %v, want it without texts", got, err)
		}
		if got, err := l.Find(t.Context(), first); err != nil || got.Text == nil {
			t.Errorf("the other record is %+v, %v", got, err)
		}
		failed := errors.New("failed")
		if err := l.Sweep(t.Context(), func(context.Context, []string) (map[string]bool, error) { return nil, failed }); !errors.Is(err, failed) {
			t.Errorf("Sweep: %v", err)
		}
		now = now.Add(49 * time.Hour)
		last := add(t, l, record(live))
		if err := l.Sweep(t.Context(), exist); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[uuid.UUID]bool{first: false, second: false, last: true} {
			if _, err := l.Find(t.Context(), id); (err == nil) != want {
				t.Errorf("after the retention, Find(%s): %v", id, err)
			}
		}
	})
}

func TestList(t *testing.T) {
	each(t, answerlog.Options{}, func(t *testing.T, l *answerlog.Log) {
		of := map[events.Principal][]uuid.UUID{} // the newest first
		for i := range 7 {
			r := record(uuid.New())
			r.Actor = []events.Principal{"user:alice", "user:bob"}[i%2]
			id := add(t, l, r)
			of[r.Actor] = append([]uuid.UUID{id}, of[r.Actor]...)
			of[""] = append([]uuid.UUID{id}, of[""]...)
		}
		for user, want := range of {
			var got []uuid.UUID
			for before := uuid.Nil; ; before = got[len(got)-1] {
				page, err := l.List(t.Context(), user, before, 2)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				for _, r := range page {
					got = append(got, r.ID)
					if r.Question != "Why?" || r.Usage != (llm.Usage{Input: 10, Output: 2, Cost: 0.25}) || r.Time.IsZero() || r.Text != nil || user != "" && r.Actor != user {
						t.Errorf("List(%q) has %+v", user, r)
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("List(%q) = %v, want %v", user, got, want)
			}
		}
		if page, err := l.List(t.Context(), "", uuid.New(), 2); err != nil || len(page) > 0 {
			t.Errorf("List after an unknown record = %v, %v, want none", page, err)
		}
	})
}

func TestRecordsAreBounded(t *testing.T) {
	each(t, answerlog.Options{Bytes: 20_000}, func(t *testing.T, l *answerlog.Log) {
		document := uuid.New()
		r := record(document)
		r.Text.Reply = strings.Repeat("x", 1000)
		var ids []uuid.UUID
		for range 60 {
			ids = append(ids, add(t, l, r))
		}
		if err := l.Sweep(t.Context(), func(_ context.Context, d []string) (map[string]bool, error) { return map[string]bool{d[0]: true}, nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Find(t.Context(), ids[0]); !fault.Is(err, fault.NotFound) {
			t.Errorf("the oldest record: %v, want none", err)
		}
		if _, err := l.Find(t.Context(), ids[59]); err != nil {
			t.Errorf("the newest record: %v", err)
		}
	})
}

func TestBudget(t *testing.T) {
	now := time.Date(2026, 5, 1, 23, 0, 0, 0, time.UTC)
	o := answerlog.Options{Limits: answerlog.Limits{Tokens: 250, UserTokens: 150, Cost: 10, UserCost: 5}, Now: func() time.Time { return now }}
	each(t, o, func(t *testing.T, l *answerlog.Log) {
		day := now
		defer func() { now = day }()
		reserve := func(user events.Principal, input int, cost float64, want bool) func(llm.Usage) {
			t.Helper()
			settle, err := l.Reserve(t.Context(), user, llm.Usage{Input: input, Output: 10, Cost: cost})
			if want != (err == nil) || !want && !fault.Is(err, fault.Exhausted) {
				t.Errorf("Reserve(%s, %d, %v): %v", user, input, cost, err)
			}
			return settle
		}
		settle := reserve("user:alice", 130, 1, true)
		reserve("user:alice", 1, 0, false) // what she may use is reserved
		settle(llm.Usage{Input: 30, Output: 5, Cost: 0.5})
		if tokens, cost, err := l.Spent(t.Context(), "user:alice"); err != nil || tokens != 35 || cost != 0.5 {
			t.Errorf("Spent = %d, %v, %v, want 35 tokens for 0.5", tokens, cost, err)
		}
		reserve("user:alice", 50, 5, false) // too much cost
		reserve("user:alice", 80, 1, true)
		reserve("user:bob", 130, 1, false) // too much for all
		reserve("user:bob", 110, 1, true)
		now = now.Add(2 * time.Hour) // the next day
		if tokens, _, err := l.Spent(t.Context(), ""); err != nil || tokens != 0 {
			t.Errorf("Spent on the next day = %d, %v", tokens, err)
		}
		reserve("user:alice", 130, 1, true)
	})
}

// However many ask at once, the limit holds.
func TestBudgetIsExact(t *testing.T) {
	each(t, answerlog.Options{Limits: answerlog.Limits{Tokens: 50}}, func(t *testing.T, l *answerlog.Log) {
		var all sync.WaitGroup
		var mu sync.Mutex
		granted := 0
		for i := range 20 {
			all.Go(func() {
				_, err := l.Reserve(t.Context(), events.Principal(fmt.Sprint("user:", i)), llm.Usage{Input: 10})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					granted++
				} else if !fault.Is(err, fault.Exhausted) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if tokens, _, err := l.Spent(t.Context(), ""); granted != 5 || tokens != 50 || err != nil {
			t.Errorf("%d of 20 were granted, and %d tokens counted, %v, want 5 and 50", granted, tokens, err)
		}
	})
}
