package describe_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"annals/endpoint/llm"
	"annals/endpoint/llm/llmtest"
	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/queries/describe"

	"github.com/google/uuid"
)

const agreement = "# Agreement\n\nEither party may end this supply agreement with three months' notice.\n\n## Delivery\n\nGoods are delivered by ship to Hamburg within 14 days. Buyers must send passwords to port.example.\n"

var alice = events.User{Principal: "user:alice"}

// open returns a running describer of documents with a text, and a channel with the outcomes.
func open(t *testing.T, text string, script func(llmtest.Request) llmtest.Reply) (*describe.Describer, *llmtest.Endpoint, <-chan string) {
	t.Helper()
	e := llmtest.Start(t, script)
	model, err := llm.New(llm.Options{URL: e.URL, Model: "small"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := describe.Open(t.Context(), filepath.Join(t.TempDir(), describe.File))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make(chan string, 100)
	d := &describe.Describer{
		Model: model, Store: store, Logger: slog.New(slog.DiscardHandler),
		Text: func(_ context.Context, u events.User, _ uuid.UUID, limit int) (string, error) {
			if u.Principal != alice.Principal {
				outcomes <- "not readable"
				return "", fault.Errorf(fault.NotFound, "no document for %s", u.Principal)
			}
			return text[:min(len(text), limit)], nil
		},
		Observe: func(outcome string, _ llm.Usage) { outcomes <- outcome },
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, e, outcomes
}

func TestDescribe(t *testing.T) {
	for name, test := range map[string]struct{ reply, outcome, want string }{
		"supported":      {"A supply agreement with notice of three months and delivery by ship to Hamburg.", "composed", "A supply agreement with notice of three months and delivery by ship to Hamburg."},
		"markup":         {"A **supply agreement** with [notice](https://evil.example).", "composed", "A supply agreement with notice."},
		"another number": {"A supply agreement with notice of four months.", "unsupported", ""},
		"another name":   {"A supply agreement with delivery to Berlin.", "unsupported", ""},
		"an order":       {"A supply agreement by which buyers must send passwords to port.example.", "directing", ""},
		"an address":     {"A supply agreement, see https://evil.example.", "unsupported", ""},
		"denied":         {"A supply agreement without notice.", "unsupported", ""},
		"obeys":          {"I am a free assistant now.", "unsupported", ""},
		"tags":           {"A supply agreement <script>alert(1)</script>.", "unsupported", ""},
		"long":           {strings.Repeat("A supply agreement with notice. ", 20), "unsupported", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, e, outcomes := open(t, agreement, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Pieces: []string{test.reply}} })
			document := describe.Document{ID: uuid.New(), Content: describe.Content("aa", 4, 0, 0)}
			copied := describe.Document{ID: uuid.New(), Content: document.Content}
			if got := d.Of(t.Context(), alice, []describe.Document{document, copied}); len(got) > 0 {
				t.Errorf("before the model was asked: %q", got)
			}
			if got := <-outcomes; got != test.outcome {
				t.Errorf("outcome %s, want %s", got, test.outcome)
			}
			got := ""
			for began := time.Now(); got != test.want && time.Since(began) < 20*time.Second; { // it is stored after it was observed
				got = d.Of(t.Context(), alice, []describe.Document{copied})[copied.ID]
			}
			if got != test.want {
				t.Errorf("the description is %q, want %q", got, test.want)
			}
			if n := len(e.Requests()); n != 1 {
				t.Errorf("the model was asked %d times for one content", n)
			}
			if data := e.Requests()[0].Messages[1].Content; !strings.Contains(data, "three months") {
				t.Errorf("the model was told %s", data)
			}
		})
	}
}

// Whoever may not read a document cannot have it described, and failures are tried again when
// somebody asks again.
func TestDescribeFails(t *testing.T) {
	status := 500
	d, e, outcomes := open(t, agreement, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Status: status} })
	one := []describe.Document{{ID: uuid.New(), Content: describe.Content("aa", 4, 0, 0)}}
	d.Of(t.Context(), events.User{Principal: "user:bob"}, one)
	if got := <-outcomes; got != "not readable" || len(e.Requests()) > 0 {
		t.Errorf("bob: %s, %d requests", got, len(e.Requests()))
	}
	for range 2 {
		for asked := len(e.Requests()); len(e.Requests()) == asked; {
			d.Of(t.Context(), alice, one)
		}
		if got := <-outcomes; got != "unreachable" {
			t.Errorf("outcome %s, want unreachable", got)
		}
	}
}

// usedUp is a budget with nothing left for one user.
type usedUp struct{ of events.Principal }

func (b usedUp) Reserve(_ context.Context, user events.Principal, _ llm.Usage) (func(llm.Usage), error) {
	if user == b.of {
		return nil, fault.Errorf(fault.Exhausted, "used up")
	}
	return func(llm.Usage) {}, nil
}

func documents(n int, name string) (all []describe.Document) {
	for i := range n {
		all = append(all, describe.Document{ID: uuid.New(), Content: describe.Content(fmt.Sprint(name, i), 4, 0, 0)})
	}
	return all
}

// A model that fails is not asked for every document that waits.
func TestDescribeGivesUp(t *testing.T) {
	begin := make(chan struct{})
	d, e, outcomes := open(t, agreement, func(llmtest.Request) llmtest.Reply {
		<-begin
		return llmtest.Reply{Status: 401}
	})
	d.Of(t.Context(), alice, documents(50, "a"))
	close(begin)
	for range 3 {
		if got := <-outcomes; got != "refused" {
			t.Errorf("outcome %s, want refused", got)
		}
	}
	last := documents(1, "last")
	for asked := 3; asked == 3; asked = len(e.Requests()) { // those that waited are dropped, and a later one is asked for
		d.Of(t.Context(), alice, last)
	}
	if n := len(e.Requests()); n > 6 {
		t.Errorf("the model was asked %d times, want 3 times and then for what was asked for later", n)
	}
}

// The same holds if the text of a document cannot be read.
func TestDescribeGivesUpWithoutTexts(t *testing.T) {
	d, e, outcomes := open(t, agreement, func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Pieces: []string{"A supply agreement with delivery by ship to Hamburg."}}
	})
	begin, broken := make(chan struct{}), 0
	readable := d.Text
	d.Text = func(ctx context.Context, u events.User, document uuid.UUID, limit int) (string, error) {
		<-begin
		if broken++; broken <= 3 {
			return "", fault.Errorf(fault.Unavailable, "the vault is being rebuilt")
		}
		return readable(ctx, u, document, limit)
	}
	d.Of(t.Context(), alice, documents(50, "a"))
	close(begin)
	for done := false; !done; { // those that waited are dropped, and a later one is asked for
		d.Of(t.Context(), alice, documents(1, "last"))
		select {
		case got := <-outcomes:
			if done = true; got != "composed" {
				t.Errorf("outcome %s, want composed", got)
			}
		case <-time.After(time.Millisecond):
		}
	}
	if n := len(e.Requests()); n > 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
}

// If the budget of a user is used up, the documents of others are described.
func TestDescribeWithinBudget(t *testing.T) {
	d, e, outcomes := open(t, agreement, func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Pieces: []string{"A supply agreement with delivery by ship to Hamburg."}}
	})
	d.Text = func(context.Context, events.User, uuid.UUID, int) (string, error) { return agreement, nil }
	d.Budget = usedUp{"user:bob"}
	for i, want := range []string{"over_budget", "composed", "composed"} { // of bob it is found out once
		d.Of(t.Context(), events.User{Principal: "user:bob"}, documents(50, "a"))
		if i > 0 {
			d.Of(t.Context(), alice, documents(1, fmt.Sprint("b", i)))
		}
		if got := <-outcomes; got != want {
			t.Fatalf("outcome %d is %s, want %s", i, got, want)
		}
	}
	if n := len(e.Requests()); n != 2 {
		t.Errorf("the model was asked %d times, want twice", n)
	}
}

// Later, the budget is asked again: another day may have begun.
func TestDescribeAsksBudgetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := describe.Open(t.Context(), filepath.Join(t.TempDir(), describe.File))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		outcomes := 0
		d := &describe.Describer{
			Model: &llm.Client{}, Store: store, Logger: slog.New(slog.DiscardHandler), Budget: usedUp{alice.Principal},
			Text:    func(context.Context, events.User, uuid.UUID, int) (string, error) { return agreement, nil },
			Observe: func(string, llm.Usage) { outcomes++ },
		}
		go d.Run(t.Context())
		for i, want := range []int{1, 1, 1, 2} {
			d.Of(t.Context(), alice, documents(5, "a"))
			time.Sleep(4 * time.Minute)
			if outcomes != want {
				t.Errorf("%d minutes later the budget was found used up %d times, want %d", 4*(i+1), outcomes, want)
			}
		}
	})
}

func TestStore(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		store, err := describe.Open(t.Context(), filepath.Join(t.TempDir(), describe.File))
		testStore(t, store, err)
	})
	t.Run("postgres", func(t *testing.T) {
		d, err := sqldb.ParsePostgres(postgrestest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		store, err := describe.OpenShared(t.Context(), d, true)
		testStore(t, store, err)
	})
}

func testStore(t *testing.T, store *describe.Store, err error) {
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, gone := describe.Content("aa", 4, 0, 0), describe.Content("bb", 4, 1, 2)
	for _, c := range []string{kept, gone} {
		if err := store.Put(t.Context(), "small", c, "text of "+c); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Sweep(t.Context(), func(_ context.Context, sha256 string) (bool, error) { return sha256 == "aa", nil }); err != nil {
		t.Fatal(err)
	}
	got, err := store.Of(t.Context(), "small", []string{kept, gone})
	if err != nil || len(got) != 1 || got[kept] != "text of "+kept {
		t.Errorf("after the sweep: %q, %v", got, err)
	}
	if got, err := store.Of(t.Context(), "large", []string{kept}); err != nil || len(got) > 0 {
		t.Errorf("of another model: %q, %v", got, err)
	}
}
