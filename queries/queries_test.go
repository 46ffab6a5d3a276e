package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/queries"
	"annals/queries/jobs"
	"annals/queries/queriestest"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// fixture is a log with read models that follow it, and what answers reads from
// them.
type fixture struct {
	*queries.Queries
	world *queriestest.World
	t     testing.TB
	at    events.Position // of the last event
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureOver(t, func(e searchindex.Engine) searchindex.Engine { return e })
}

// newFixtureOver puts something between the read models and their engine.
func newFixtureOver(t testing.TB, engine func(searchindex.Engine) searchindex.Engine) *fixture {
	t.Helper()
	w := queriestest.OpenOver(t, engine)
	return &fixture{Queries: queries.New(w.Models.Set, queries.Options{MaxLag: time.Hour}), world: w, t: t}
}

func (f *fixture) add(stream string, data ...events.Data) {
	f.t.Helper()
	f.addAs("user:alice", stream, data...)
}

func (f *fixture) addAs(who events.Principal, stream string, data ...events.Data) {
	f.t.Helper()
	f.world.AppendAs(who, stream, data...)
	f.at = f.world.At
}

// addUnreadable adds an event that this version of the program cannot read.
func (f *fixture) addUnreadable(stream, kind string) {
	f.t.Helper()
	at, err := f.world.Driver.Append(f.t.Context(), stream, events.AnyRevision, []events.Record{{ID: uuid.New(), Type: kind, Data: []byte(`{}`), Metadata: []byte(`{"schema":999}`)}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.at = at.Position
}

// settle waits until every read model has passed the last event.
func (f *fixture) settle() {
	f.t.Helper()
	f.world.At = f.at
	f.world.Settle()
}

func (f *fixture) folder(parent uuid.UUID, name string, owner events.Principal) uuid.UUID {
	f.t.Helper()
	defer func() { f.at = f.world.At }()
	return f.world.Folder(parent, name, owner)
}

func (f *fixture) share(folder uuid.UUID, who events.Principal, access string) {
	f.t.Helper()
	defer func() { f.at = f.world.At }()
	f.world.Share(folder, who, access)
}

// document files a document whose text is one section for each text.
func (f *fixture) document(folder uuid.UUID, name string, tags []string, texts ...string) uuid.UUID {
	f.t.Helper()
	defer func() { f.at = f.world.At }()
	return f.world.Document(folder, name, tags, texts...)
}

var (
	admin = events.User{Principal: "user:root", Admin: true}
	alice = events.User{Principal: "user:alice"}
	bob   = events.User{Principal: "user:bob", Groups: []events.Principal{"group:staff"}}
	eve   = events.User{Principal: "user:eve"}
)

func found(sources []search.Source) []uuid.UUID {
	var ids []uuid.UUID
	for _, s := range sources {
		if !slices.Contains(ids, s.Document) {
			ids = append(ids, s.Document)
		}
	}
	return ids
}

func TestSearchFindsReadableOnly(t *testing.T) {
	f := newFixture(t)
	home := f.folder(uuid.Nil, "Alice", "user:alice")
	secret := f.folder(home, "Secret", "")
	shared := f.folder(home, "Shared", "")
	f.share(shared, "group:staff", "read")
	hidden := f.document(secret, "hidden.md", nil, "The walrus plan is hidden here.")
	open := f.document(shared, "open.md", []string{"plans"}, "The walrus plan is open to staff.")
	f.settle()
	for _, c := range []struct {
		user events.User
		want []uuid.UUID
	}{
		{alice, []uuid.UUID{hidden, open}}, {admin, []uuid.UUID{hidden, open}}, {bob, []uuid.UUID{open}}, {eve, nil},
	} {
		sources, err := f.Search(t.Context(), c.user, search.Query{Query: "walrus plan"})
		if err != nil {
			t.Fatal(err)
		}
		got := found(sources)
		slices.SortFunc(got, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		slices.SortFunc(c.want, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s finds %v, want %v", c.user.Principal, got, c.want)
		}
	}
	f.add(events.Folders, events.FolderShared{Folder: shared})
	if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
		t.Fatal(err)
	}
	if sources, err := f.Search(t.Context(), bob, search.Query{Query: "walrus plan"}); err != nil || len(sources) > 0 {
		t.Errorf("after the right was withdrawn bob finds %v (%v)", sources, err)
	}
}

func TestSearchHeedsItsLimits(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	sub := f.folder(top, "Sub", "")
	other := f.folder(uuid.Nil, "Other", "user:alice")
	a := f.document(top, "a.md", []string{"red", "round"}, "A zebra in the top folder.")
	b := f.document(sub, "b.md", []string{"red"}, "A zebra in the lower folder.")
	c := f.document(other, "c.md", []string{"round"}, "A zebra in another folder.")
	f.settle()
	for name, q := range map[string]struct {
		s    search.Query
		want []uuid.UUID
	}{
		"everywhere":      {search.Query{}, []uuid.UUID{a, b, c}},
		"a folder's tree": {search.Query{Folder: "Top"}, []uuid.UUID{a, b}},
		"a subfolder":     {search.Query{Folder: " Top / Sub/ "}, []uuid.UUID{b}},
		"no such folder":  {search.Query{Folder: "Nowhere"}, nil},
		"all tags":        {search.Query{Tags: []string{"red", "round"}}, []uuid.UUID{a}},
		"any tag":         {search.Query{Tags: []string{"red", "round"}, AnyTag: true}, []uuid.UUID{a, b, c}},
		"a document":      {search.Query{Document: c}, []uuid.UUID{c}},
		"one in a folder": {search.Query{Document: b, Folder: "Top"}, []uuid.UUID{b}},
		"one elsewhere":   {search.Query{Document: c, Folder: "Top"}, nil},
		"no document":     {search.Query{Document: uuid.New()}, nil},
	} {
		q.s.Query = "zebra"
		sources, err := f.Search(t.Context(), alice, q.s)
		if err != nil {
			t.Fatal(err)
		}
		got := found(sources)
		for _, id := range q.want {
			if !slices.Contains(got, id) {
				t.Errorf("%s: %v is not found", name, id)
			}
		}
		if len(got) != len(q.want) {
			t.Errorf("%s: found %d documents, want %d", name, len(got), len(q.want))
		}
	}
	if s, err := f.Search(t.Context(), alice, search.Query{Query: "zebra", Limit: 2}); err != nil || len(s) != 2 {
		t.Errorf("limit 2: %d passages (%v)", len(s), err)
	}
	if s, err := f.Search(t.Context(), alice, search.Query{Query: "  "}); err != nil || len(s) != 0 {
		t.Errorf("a blank question finds %d passages (%v)", len(s), err)
	}
}

func TestSearchAfterRevision(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	id := f.document(top, "a.md", nil, "The old text speaks of okapis.")
	f.settle()
	stream := events.TextStream(id, 1)
	f.add(stream, events.SectionExtracted{Text: "The new text speaks of gnus."})
	f.add(events.DocumentStream(id), events.DocumentRevised{Version: 2, Content: events.Content{
		SHA256: strings.Repeat("0b", 32), MediaType: "text/markdown", Title: "New", TextStream: stream, Sections: 1,
	}})
	f.settle()
	if s, err := f.Search(t.Context(), alice, search.Query{Query: "okapis"}); err != nil || len(s) != 0 {
		t.Errorf("the old text is still found: %v (%v)", s, err)
	}
	s, err := f.Search(t.Context(), alice, search.Query{Query: "gnus"})
	if err != nil || len(s) != 1 || s[0].Title != "New" {
		t.Errorf("the new text: %v (%v)", s, err)
	}
	f.add(events.DocumentStream(id), events.DocumentDeleted{Version: 3})
	f.settle()
	if s, err := f.Search(t.Context(), alice, search.Query{Query: "gnus"}); err != nil || len(s) != 0 {
		t.Errorf("the deleted text is still found: %v (%v)", s, err)
	}
	if n, err := f.Models.Search.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("the index holds %d passages of deleted text (%v)", n, err)
	}
}

func TestPassagePagesFollowPageBreaks(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	id := uuid.New()
	stream := events.TextStream(id, 0)
	var text strings.Builder
	var breaks []int
	for page := range 6 {
		if page > 0 {
			breaks = append(breaks, text.Len())
		}
		for i := range 40 {
			fmt.Fprintf(&text, "Sentence %d of page word%dpage stands here quietly. ", i, page+3)
		}
	}
	f.add(stream, events.SectionExtracted{Title: "Long", Level: 1, StartPage: 3, EndPage: 8, PageBreaks: breaks, Text: text.String()})
	f.add(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: top, Name: "a.pdf", Content: events.Content{
		MediaType: "application/pdf", Title: "A", Pages: 8, TextStream: stream, Sections: 1,
	}})
	f.settle()
	for page := 3; page <= 8; page++ {
		word := fmt.Sprintf("word%dpage", page)
		s, err := f.Search(t.Context(), alice, search.Query{Query: word})
		if err != nil || len(s) == 0 {
			t.Fatalf("%s: %v, %v", word, s, err)
		}
		for _, one := range s {
			if one.StartPage > page || one.EndPage < page || one.EndPage-one.StartPage > 1 {
				t.Errorf("%s was found on pages %d-%d", word, one.StartPage, one.EndPage)
			}
			if want := fmt.Sprintf("/documents/%s.pdf#page=%d", id, one.StartPage); one.DeepLink != want {
				t.Errorf("deep link %s, want %s", one.DeepLink, want)
			}
		}
	}
}

func TestListingsShowReadableOnly(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	mid := f.folder(top, "Mid", "")
	low := f.folder(mid, "Low", "")
	f.share(mid, "user:bob", "read")
	doc := f.document(low, "B.md", []string{"t1"}, "Text.")
	f.document(top, "a.md", []string{"t2"}, "Text.")
	f.settle()

	folders, err := f.Folders(t.Context(), bob, nil)
	if err != nil || len(folders) != 1 || folders[0].ID != mid || folders[0].Parent != uuid.Nil {
		t.Errorf("bob's top level is %v (%v), want Mid without its parent", folders, err)
	}
	if _, err := f.Folders(t.Context(), bob, &top); !fault.Is(err, fault.NotFound) {
		t.Errorf("folders below one that bob may not read: %v", err)
	}
	detail, err := f.FolderDetail(t.Context(), bob, low)
	if err != nil || len(detail.Ancestors) != 1 || detail.Ancestors[0].ID != mid || !detail.DocFolder {
		t.Errorf("bob sees Low as %+v (%v), want Mid alone above it", detail, err)
	}
	if tags, err := f.VisibleTags(t.Context(), bob); err != nil || !slices.Equal(tags, []string{"t1"}) {
		t.Errorf("bob sees the tags %v (%v)", tags, err)
	}
	docs, _, err := f.Documents(t.Context(), bob, vault.DocumentFilter{Tag: "t2"})
	if err != nil || len(docs) != 0 {
		t.Errorf("bob lists %v by a tag of a document that he may not read (%v)", docs, err)
	}
	if batch, err := f.DocumentBatch(t.Context(), eve, []uuid.UUID{doc}); err != nil || len(batch) != 0 {
		t.Errorf("eve gets %v (%v)", batch, err)
	}
	if _, err := f.Document(t.Context(), eve, doc); !fault.Is(err, fault.NotFound) {
		t.Errorf("eve reads the document: %v", err)
	}
	got, err := f.Document(t.Context(), bob, doc)
	if err != nil || got.Content == nil || *got.Content != "---\ntype: document\ntitle: \"Title of B.md\"\n---\n\n# Section 1\n\nText." {
		t.Errorf("bob reads %+v (%v)", got, err)
	}
	f.add(events.Folders, events.FolderDeleted{Folder: mid})
	f.settle()
	if _, err := f.Document(t.Context(), admin, doc); !fault.Is(err, fault.NotFound) {
		t.Errorf("a document below a deleted folder can be read: %v", err)
	}
}

func TestDocumentPagesHoldEachOnce(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("%c%02d.md", "aB"[i%2], i/3)
		f.document(top, name, nil, "Text.")
		want = append(want, strings.ToLower(name))
	}
	f.settle()
	slices.Sort(want)
	for _, limit := range []int{1, 4, 25, 100} {
		var got []string
		seen := make(map[uuid.UUID]bool)
		for cursor := ""; ; {
			docs, next, err := f.Documents(t.Context(), alice, vault.DocumentFilter{Folder: &top, Limit: limit, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				if seen[d.ID] {
					t.Fatalf("limit %d: %s is listed twice", limit, d.Name)
				}
				seen[d.ID] = true
				got = append(got, strings.ToLower(d.Name))
			}
			if cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
	if _, _, err := f.Documents(t.Context(), alice, vault.DocumentFilter{Folder: &top, Cursor: "%"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a bad cursor: %v", err)
	}
}

func TestFolderSummary(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.folder(top, "Sub", "")
	f.document(top, "a.md", nil, "Text.")
	f.settle()
	s, err := f.FolderSummary(t.Context(), alice, "Top")
	if err != nil || s.Status != "ok" || s.Folder != "Top" || s.Content != "- **Title of a.md** (a.md): About a.md.\n- **Sub/**: a folder\n" {
		t.Fatalf("summary %+v (%v)", s, err)
	}
	d, err := f.Document(t.Context(), alice, s.Document)
	if err != nil || d.Content == nil || !strings.HasPrefix(*d.Content, "---\ntype: folder-summary\ntitle: \"Summary of Top\"\n---\n\n- **Title") {
		t.Errorf("the summary as a document: %+v (%v)", d, err)
	}
	if _, err := f.Document(t.Context(), eve, s.Document); !fault.Is(err, fault.NotFound) {
		t.Errorf("eve reads the summary: %v", err)
	}
	for _, path := range []string{"Nowhere", "Top/Sub"} {
		if s, err := f.FolderSummary(t.Context(), alice, path); err != nil || s.Status != "none" {
			t.Errorf("summary of %s: %+v (%v)", path, s, err)
		}
	}
	if s, err := f.FolderSummary(t.Context(), eve, "Top"); err != nil || s.Status != "none" {
		t.Errorf("eve's summary: %+v (%v)", s, err)
	}
	job := uuid.New()
	f.add(events.JobStream(job), events.FileAccepted{Name: "b.md", Folder: "Top"}, events.FileAccepted{File: 1, Name: "b.md", Folder: "New"},
		events.ImportRequested{Files: 2, User: "user:alice"})
	f.settle()
	for path, want := range map[string]string{"Top": "unavailable", "New": "unavailable"} {
		if s, err := f.FolderSummary(t.Context(), alice, path); err != nil || s.Status != want {
			t.Errorf("while a job works, the summary of %s is %+v (%v)", path, s, err)
		}
	}
	if s, err := f.FolderSummary(t.Context(), eve, "New"); err != nil || s.Status != "none" {
		t.Errorf("eve learns of a job in a folder: %+v (%v)", s, err)
	}
}

func TestJobIsDoneOnceFound(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	for i := range 20 {
		job := uuid.New()
		word := fmt.Sprintf("wombat%d", i)
		f.add(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.FileAccepted{File: 1, Name: "b.xyz", Folder: "Top", Refused: "no"},
			events.ImportRequested{Files: 2, User: "user:alice"})
		texts := []string{"A " + word + "."}
		if i%5 == 0 { // which the index takes behind everything else
			texts = append(slices.Repeat([]string{"Much else."}, 1200), texts...)
		}
		doc := f.document(top, word+".md", nil, texts...)
		f.add(events.JobStream(job), events.FileImported{Document: doc, Title: "A"}, events.JobFinished{Successful: 1, Failed: 1})
		var last *jobs.Job
		if err := f.Models.Jobs.Wait(t.Context(), f.at); err != nil {
			t.Fatal(err)
		}
		err := f.FollowJob(t.Context(), alice, job.String(), func(u jobs.Update) error { last = u.Job; return nil })
		if err != nil || last == nil || !last.Done || last.Status != "complete" || last.Successful != 1 || last.Failed != 1 {
			t.Fatalf("job %+v (%v)", last, err)
		}
		if s, err := f.Search(t.Context(), alice, search.Query{Query: word}); err != nil || len(s) == 0 || !strings.Contains(s[0].Text, word) {
			t.Fatalf("the job is done and its document is not found: %v (%v)", s, err)
		}
		if _, err := f.Job(t.Context(), eve, job.String()); !fault.Is(err, fault.NotFound) {
			t.Errorf("eve sees alice's job: %v", err)
		}
	}
}

func TestDuplicateResultHasDocumentTags(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	doc := f.document(top, "a.md", []string{"first"}, "Text.")
	job := uuid.New()
	f.add(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top", Tags: []string{"other"}}, events.ImportRequested{Files: 1, User: "user:alice"},
		events.FileImported{Document: doc, Title: "A", Duplicate: true}, events.JobFinished{Successful: 1})
	f.settle()
	j, err := f.Job(t.Context(), alice, job.String())
	if err != nil || !slices.Equal(j.Results[0].Tags, []string{"first"}) {
		t.Errorf("the result has the tags %v (%v), the document %v", j.Results[0].Tags, err, []string{"first"})
	}
}

func TestImportedFileMessage(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	doc := f.document(top, "a.md", nil, "Text.")
	for _, c := range []struct {
		outcome   string
		duplicate bool
		want      string
	}{
		{events.OutcomeCreated, false, "imported a.md"}, {events.OutcomeCreated, true, "imported a.md"},
		{events.OutcomeUpdated, false, "updated a.md"}, {events.OutcomeUpdated, true, "updated a.md"},
		{events.OutcomeUnchanged, true, "a.md was imported before"}, {events.OutcomeUnchanged, false, "a.md is unchanged"},
		{"", true, "a.md was imported before"}, {"", false, "imported a.md"}, // of earlier releases
	} {
		job := uuid.New()
		f.add(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"},
			events.FileImported{Document: doc, Title: "A", Duplicate: c.duplicate, Outcome: c.outcome}, events.JobFinished{Successful: 1})
		f.settle()
		var messages []string
		err := f.FollowJob(t.Context(), alice, job.String(), func(u jobs.Update) error { messages = append(messages, u.Message); return nil })
		if err != nil || !slices.Contains(messages, c.want) {
			t.Errorf("%q, duplicate %v: messages %q (%v), want %q", c.outcome, c.duplicate, messages, err, c.want)
		}
	}
}

func TestJobHidesUnreadableDuplicate(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.share(top, "user:bob", "write")
	doc := f.document(top, "a.md", []string{"secret"}, "Text.")
	job := uuid.New()
	f.add(events.JobStream(job), events.FileAccepted{Name: "copy.md", Folder: "Top", Tags: []string{"mine"}}, events.ImportRequested{Files: 1, User: "user:bob"},
		events.FileImported{Document: doc, Title: "Title of a.md", Duplicate: true}, events.JobFinished{Successful: 1})
	f.settle()
	j, err := f.Job(t.Context(), bob, job.String())
	if err != nil || j.Results[0].Document != doc || j.Results[0].Title != "Title of a.md" {
		t.Errorf("bob, who may read it, gets %+v (%v)", j.Results, err)
	}
	f.add(events.Folders, events.FolderShared{Folder: top})
	if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
		t.Fatal(err)
	}
	j, err = f.Job(t.Context(), bob, job.String())
	if err != nil || j.Status != "complete" || j.Results[0].Document != uuid.Nil || j.Results[0].Title != "" || !slices.Equal(j.Results[0].Tags, []string{"mine"}) {
		t.Errorf("after the right was withdrawn bob gets %+v (%v)", j, err)
	}
	var updates []jobs.Update
	err = f.FollowJob(t.Context(), bob, job.String(), func(u jobs.Update) error { updates = append(updates, u); return nil })
	if err != nil || len(updates) != 3 || updates[0].Document != uuid.Nil || !updates[0].Duplicate || updates[2].Job == nil || updates[2].Job.Results[0].Document != uuid.Nil {
		t.Errorf("following the job bob gets %+v (%v)", updates, err)
	}
}

func TestFailedFileKind(t *testing.T) {
	f := newFixture(t)
	job := uuid.New()
	f.add(events.JobStream(job),
		events.FileAccepted{Name: "a.xyz", Folder: "Top", Refused: "no"}, events.FileAccepted{File: 1, Name: "b.md", Folder: "Top"},
		events.FileAccepted{File: 2, Name: "c.md", Folder: "Top"}, events.FileAccepted{File: 3, Name: "d.md", Folder: "Top"},
		events.ImportRequested{Files: 4, User: "user:alice"},
		events.FileFailed{File: 1, Error: "it is empty"}, events.FileFailed{File: 2, Error: "it is at version 3", Kind: fault.Conflict.String()})
	f.settle()
	j, err := f.Job(t.Context(), alice, job.String())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []fault.Kind{fault.Invalid, fault.Invalid, fault.Conflict, fault.Internal} {
		if r := j.Results[i]; r.Kind != want || r.Success || r.Done != (i < 3) {
			t.Errorf("of %s gets %+v, want a fault of kind %v", r.Filename, r, want)
		}
	}
}
