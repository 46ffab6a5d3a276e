//go:build !race

package projections

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

func TestAServerTakesUpParkedEventsWhenAsked(t *testing.T) {
	p, l := newLearning(t)
	folder, id, job := uuid.New(), uuid.New(), uuid.New()
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"})
	add(t, p.log, events.JobStream(job), events.FileAccepted{File: 0, Name: "a.md"}, events.ImportRequested{User: "user:alice", Files: 1})
	content := write(t, p.log, id, 1, "lamp", 3)
	l.know(events.DocumentStream(id), 0)
	l.know(events.JobStream(job), 2)
	add(t, p.log, events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: content})
	add(t, p.log, events.JobStream(job), events.FileImported{File: 0, Document: id}, events.JobFinished{Successful: 1})
	add(t, p.log, events.DocumentStream(id), events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentTagged{Version: 3, Tags: []string{"t"}})
	_, last := fileInto(t, p.log, folder, "oil")

	s, stop := serve(t, optionsIn(t, p.log, p.dir))
	for _, r := range s.All() {
		wait(t, r, last)
	}
	other := optionsIn(t, p.log, p.dir)
	parked, _, err := other.Parked(t.Context(), "vault", "", 0, 10)
	if err != nil || len(parked) != 3 {
		t.Fatalf("parked are %+v (%v), want the document's three", parked, err)
	}
	if first := parked[0]; first.Stream != events.DocumentStream(id) || first.Revision != 0 || first.Type != "DocumentImported" || first.Time.IsZero() || !strings.Contains(first.Reason, "does not know") {
		t.Errorf("the first parked event is %+v", first)
	}
	if !strings.HasPrefix(parked[2].Reason, "waits behind") || parked[2].Type != "DocumentTagged" {
		t.Errorf("the last parked event is %+v", parked[2])
	}

	// The program has not learned it yet.
	if err := other.Control.AskRetry(t.Context(), "vault", ""); err != nil {
		t.Fatal(err)
	}
	if got := answered(t, other.Control, "vault", ""); got != (Retried{}) || number(t, s.Vault, `SELECT count(*) FROM parked`) != 3 {
		t.Errorf("too early, %+v were taken up", got)
	}
	l.know("", 0)
	for _, name := range Names() {
		if err := other.Control.AskRetry(t.Context(), name, ""); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"vault": 3, "jobs": 2, "work": 1, "summaries": 3, "audit": 4, "usage": 2} {
		if got := answered(t, other.Control, name, ""); got != (Retried{Applied: want}) {
			t.Errorf("%s: %+v, want %d applied", name, got, want)
		}
	}
	// Another document's sections came meanwhile, which is none of this one's.
	if got := answered(t, other.Control, "passages", ""); got != (Retried{Applied: 2}) {
		t.Errorf("passages: %+v, want 2 applied", got)
	}
	hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lamp", Granted: []string{folder.String()}, Limit: 10})
	if err != nil || len(hits) != 3 {
		t.Errorf("a search finds %d passages (%v), want 3", len(hits), err)
	}
	at := add(t, p.log, events.DocumentStream(id), events.DocumentRenamed{Version: 4, Name: "c.md"})
	wait(t, s.Vault, at)
	if got := number(t, s.Vault, `SELECT count(*) FROM documents WHERE name = 'c.md'`); got != 1 {
		t.Error("what comes after a retry is not applied")
	}
	for _, r := range s.All() {
		wait(t, r, at)
	}
	stop()
	p.wantSound(0)
}

// An answer that nothing could be applied would be wrong.
func TestAServerTriesParkedEventsAgainWhereAFaultPasses(t *testing.T) {
	p, l := newLearning(t)
	folder, stream := uuid.New(), events.DocumentStream(uuid.New())
	at := add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	l.know(stream, 0)
	last := add(t, p.log, stream, imported(folder, "a.md"), events.DocumentRenamed{Version: 2, Name: "b.md"})
	var ill atomic.Bool
	log := events.NewLog(restless{Driver: l, read: func(after events.Position) error {
		if after > at && after < last && ill.CompareAndSwap(true, false) {
			return fault.Errorf(fault.Unavailable, "the log does not answer")
		}
		return nil
	}})
	o := optionsIn(t, log, p.dir)
	s, _ := serve(t, o)
	wait(t, s.Vault, last)
	l.know("", 0)
	ill.Store(true)
	if err := o.Control.AskRetry(t.Context(), "vault", ""); err != nil {
		t.Fatal(err)
	}
	if got := answered(t, o.Control, "vault", ""); got != (Retried{Applied: 2}) || ill.Load() {
		t.Errorf("%+v, want 2 applied after a fault that passed", got)
	}
}

func TestARetryStopsWhereAnEventStillCannotBeApplied(t *testing.T) {
	p, l := newLearning(t)
	folder, one, two := uuid.New(), events.DocumentStream(uuid.New()), events.DocumentStream(uuid.New())
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	for _, stream := range []string{one, two} {
		l.know(stream, 0)
		add(t, p.log, stream, imported(folder, "a.md"), events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentRenamed{Version: 3, Name: "c.md"}, events.DocumentDeleted{Version: 4})
	}
	last, err := p.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.serve(last)
	l.know(one, 2)
	l.know(two, 1)
	o := optionsIn(t, p.log, p.dir)
	if got, err := o.Retry(t.Context(), "vault", one); err != nil || got != (Retried{Applied: 2}) {
		t.Errorf("of one stream %+v (%v) were taken up, want 2 applied", got, err)
	}
	parked, _, err := o.Parked(t.Context(), "vault", one, 0, 10)
	if err != nil || len(parked) != 2 || parked[0].Revision != 2 || !strings.Contains(parked[0].Reason, "event 2 of "+one) || !strings.HasPrefix(parked[1].Reason, "waits behind") {
		t.Errorf("of that stream %+v are parked (%v), want the third event with its reason and the fourth behind it", parked, err)
	}
	if parked, _, err = o.Parked(t.Context(), "vault", two, 0, 10); err != nil || len(parked) != 4 {
		t.Errorf("of the other stream %+v are parked (%v), want all four", parked, err)
	}
	for _, name := range Names() {
		if _, err := o.Retry(t.Context(), name, ""); err != nil {
			t.Error(err)
		}
	}
	// By stream: vault and audit 2 and 3, summaries 2 and 3, passages and usage,
	// which read no names, 1 and 1.
	p.wantSound(2 + 3 + 2 + 3 + 2 + 3 + 1 + 1 + 1 + 1)
}

func TestNothingIsAppliedLateThatWouldGiveOtherTables(t *testing.T) {
	for name, test := range map[string]struct {
		between func(t *testing.T, p *proven, folder, document uuid.UUID)
		barred  string // read models
	}{
		"another document": {func(t *testing.T, p *proven, folder, _ uuid.UUID) {
			fileInto(t, p.log, folder, "oil")
		}, ""},
		"a moved folder": {func(t *testing.T, p *proven, folder, _ uuid.UUID) {
			add(t, p.log, events.Folders, events.FolderMoved{Folder: folder, Parent: uuid.New()})
		}, ""},
		"a deleted folder": {func(t *testing.T, p *proven, folder, _ uuid.UUID) {
			add(t, p.log, events.Folders, events.FolderDeleted{Folder: folder})
		}, "vault summaries usage passages"},
		"another text of the document": {func(t *testing.T, p *proven, _, document uuid.UUID) {
			content := write(t, p.log, document, 3, "oil", 2)
			add(t, p.log, events.DocumentStream(document), events.DocumentRevised{Version: 3, Content: content})
		}, "passages"},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := newLearning(t)
			from, to, id := uuid.New(), uuid.New(), uuid.New()
			add(t, p.log, events.Folders, events.FolderCreated{Folder: from, Name: "F"}, events.FolderCreated{Folder: to, Name: "T"})
			stream := events.DocumentStream(id)
			l.know(stream, 1)
			add(t, p.log, stream, events.DocumentImported{Version: 1, Folder: from, Name: "a.md", Content: write(t, p.log, id, 1, "lamp", 2)})
			add(t, p.log, stream, events.DocumentMoved{Version: 2, Folder: to})
			test.between(t, p, from, id)
			last, err := p.log.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.serve(last)
			l.know("", 0)
			p.retryAll(func(name string, got Retried) {
				if want := strings.Contains(test.barred, name); got.Barred > 0 != want {
					t.Errorf("%s: %+v, want some barred: %t", name, got, want)
				}
			})
			p.wantSound(0)
		})
	}
}

// strict is a projection that does not say what may come late.
type strict struct{ Projection }

func TestToAProjectionThatDoesNotAllowItNothingIsAppliedLate(t *testing.T) {
	parked := []parkedStream{{events.JobStream(uuid.New()), 3}}
	if l := newLateness(newLog(t), strict{Jobs{}}, parked); l.late(parked[0].stream) {
		t.Error("an event is applied late")
	}
	if l := newLateness(newLog(t), Jobs{}, parked); !l.late(parked[0].stream) {
		t.Error("an event of a job is not applied late")
	}
}

func TestWhatComesToAStreamWhileItIsTakenUpFollowsInOrder(t *testing.T) {
	p, l := newLearning(t)
	folder, stream := uuid.New(), events.DocumentStream(uuid.New())
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	l.know(stream, 0)
	version := 1
	rename := func(n int) []events.Data {
		all := make([]events.Data, n)
		for i := range all {
			version++
			all[i] = events.DocumentRenamed{Version: version, Name: "a.md"}
		}
		return all
	}
	add(t, p.log, stream, imported(folder, "a.md"))
	last := add(t, p.log, stream, rename(retryBatch+50)...)
	o := optionsIn(t, p.log, p.dir)
	s, stop := serve(t, o)
	for _, r := range s.All() {
		wait(t, r, last)
	}
	l.know("", 0)
	for _, name := range Names() {
		if err := o.Control.AskRetry(t.Context(), name, stream); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		last = add(t, p.log, stream, rename(5)...)
		wait(t, s.Vault, last)
	}
	for _, r := range s.All() {
		answered(t, o.Control, r.Name(), stream)
		wait(t, r, last)
	}
	if got := number(t, s.Vault, `SELECT version FROM documents`); got != version {
		t.Errorf("the document is at version %d, want %d", got, version)
	}
	stop()
	p.wantSound(0)
}

// torn is an engine that is cut off when it is to take something.
type torn struct{ searchindex.Engine }

func (torn) Apply(context.Context, searchindex.Batch) error { return errors.New("cut off") }

func TestARetryThatIsCutOffBeforeTheIndexIsMadeGood(t *testing.T) {
	p, l := newLearning(t)
	folder, id := uuid.New(), uuid.New()
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	l.know(events.DocumentStream(id), 0)
	last := add(t, p.log, events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, p.log, id, 1, "lamp", 2)})
	p.serve(last)
	l.know("", 0)
	o := optionsIn(t, p.log, p.dir)
	for _, name := range Names() {
		if err := o.Control.AskRetry(t.Context(), name, ""); err != nil {
			t.Fatal(err)
		}
	}
	broken := o
	broken.OpenSearch = func(ctx context.Context, generation string) (searchindex.Engine, error) {
		engine, err := o.OpenSearch(ctx, generation)
		return torn{engine}, err
	}
	if _, err := broken.Retry(t.Context(), "passages", ""); err == nil {
		t.Fatal("a retry ends well though the index was cut off")
	}
	s, stop := serve(t, o)
	for _, name := range Names() {
		answered(t, o.Control, name, "")
	}
	hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lamp", Granted: []string{folder.String()}, Limit: 10})
	if err != nil || len(hits) != 2 {
		t.Errorf("a search finds %d passages (%v), want 2", len(hits), err)
	}
	stop()
	p.wantSound(0)
}

// What was begun was filled by a program that did not know the event.
func TestARebuildForParkedEventsBeginsAnew(t *testing.T) {
	p, l := newLearning(t)
	folder, _ := manyDocuments(t, p.log, 3)
	stream := events.DocumentStream(uuid.New())
	l.know(stream, 0)
	last := add(t, p.log, stream, imported(folder, "a.md"))
	p.serve(last)
	o := optionsIn(t, p.log, p.dir)
	begun, err := o.begun(t.Context(), Vault{})
	if err == nil {
		err = o.fill(t.Context(), Vault{}, begun, unheard)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.know("", 0)
	if _, err = o.RebuildAnew(t.Context(), "vault", unheard); err == nil {
		err = o.Switch(t.Context(), "vault")
	}
	if err != nil {
		t.Fatal(err)
	}
	if parked, _, err := o.Parked(t.Context(), "vault", "", 0, 10); err != nil || len(parked) > 0 {
		t.Errorf("parked are still %+v (%v)", parked, err)
	}
	p.retryAll(func(string, Retried) {})
	p.wantSound(0)
}
