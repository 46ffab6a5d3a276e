package vectors_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/projections/embeddings/embeddingstest"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/readmodel/vectors"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// alike has words that mean the same to the endpoint.
var alike = embeddingstest.Behaviour{Alike: [][]string{{"car", "automobile"}, {"ship", "vessel"}}}

// world is a log with a read model of its vectors.
type world struct {
	*projectionstest.Model
	t        *testing.T
	log      *events.Log
	endpoint *embeddingstest.Endpoint
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, log: projectionstest.NewLog(t), endpoint: embeddingstest.Start(t, alike)}
	p := new(vectors.Projection).With(readmodel.Embedding{Embedder: w.endpoint.Client(), Log: w.log, Logger: projectionstest.Quiet})
	w.Model = projectionstest.OpenModel(t, w.log, p, projectionstest.Home(t, t.TempDir()))
	return w
}

func (w *world) append(stream string, data ...events.Data) {
	w.t.Helper()
	projectionstest.Append(w.t, w.log, stream, data...)
}

func (w *world) folder(parent uuid.UUID) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.append(events.Folders, events.FolderCreated{Folder: id, Parent: parent, Name: id.String()})
	return id
}

// document imports a document with a section for each text.
func (w *world) document(folder uuid.UUID, tags []string, texts ...string) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.append(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Tags: tags, Content: w.content(id, 0, texts)})
	return id
}

func (w *world) content(id uuid.UUID, attempt int, texts []string) events.Content {
	w.t.Helper()
	stream := events.TextStream(id, attempt)
	for i, text := range texts {
		w.append(stream, events.SectionExtracted{Index: i, Text: text})
	}
	return events.Content{SHA256: strings.Repeat("0", 64), MediaType: "text/markdown", Title: "Title", TextStream: stream, Sections: len(texts)}
}

// nearest returns the ids of the nearest passages to a text.
func (w *world) nearest(q searchindex.Query, text string, limit int) (ids []string) {
	w.t.Helper()
	m, err := vectors.ModelOf(w.t.Context(), w.DB())
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := w.endpoint.Client().Query(w.t.Context(), m.Name, m.Dimensions, text)
	if err != nil {
		w.t.Fatal(err)
	}
	hits, err := vectors.Nearest(w.t.Context(), w.DB(), q, v, limit)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, h := range hits {
		ids = append(ids, h.ID)
		if i > 0 && h.Score > hits[i-1].Score || h.Score > 1.0001 || h.Score < -1.0001 {
			w.t.Errorf("the scores are no falling cosines: %v", hits)
		}
	}
	cosines, err := vectors.Cosines(w.t.Context(), w.DB(), ids, v)
	if err != nil || len(cosines) != len(hits) {
		w.t.Fatalf("Cosines = %v, %v, want one for each of %v", cosines, err, hits)
	}
	for _, h := range hits {
		if cosines[h.ID] != h.Score {
			w.t.Errorf("Cosines has %g for %s, and Nearest %g", cosines[h.ID], h.ID, h.Score)
		}
	}
	return ids
}

var all = searchindex.Query{All: true}

func TestNearestByMeaning(t *testing.T) {
	w := open(t)
	home := w.folder(uuid.Nil)
	cars := w.document(home, nil, "The automobile stands in the garage.")
	w.document(home, nil, "A meal of beans and rice.")
	w.document(home, nil, "The vessel sails tomorrow.")
	w.ApplyAll()
	if got, want := w.nearest(all, "car", 1), []string{passages.ID(cars.String(), 1, 0, 0)}; !slices.Equal(got, want) {
		t.Errorf("nearest to car: %v, want %v", got, want)
	}
}

// The passages must be those of the read model passages: a search looks up their texts there.
func TestPassagesAreThoseOfPassages(t *testing.T) {
	w := open(t)
	home := w.folder(uuid.Nil)
	long := strings.Repeat("A sentence with several words about the ship. ", 400)
	id := w.document(home, nil, "", long, "short")
	stream := events.TextStream(id, 0)
	w.append(stream, events.SectionExtracted{Index: 7, Text: "a section that the document does not have"})
	parted := uuid.New()
	for part := range 3 {
		w.append(events.TextStream(parted, 0), events.SectionExtracted{Part: part, Text: long})
	}
	w.append(events.DocumentStream(parted), events.DocumentImported{Version: 1, Folder: home, Name: "b.md", Content: events.Content{TextStream: events.TextStream(parted, 0), Sections: 1}})
	w.ApplyAll()
	p := projectionstest.OpenModel(t, w.log, new(passages.Projection).With(noEngine{}), projectionstest.Home(t, t.TempDir()))
	p.ApplyAll()
	want := projectionstest.Rows(t, p.DB(), `SELECT `+passages.IDSQL+` FROM passages ORDER BY document, version, section, number`)
	got := projectionstest.Rows(t, w.DB(), `SELECT d.id || '/' || v.version || '/' || v.section || '/' || v.number FROM vectors v JOIN documents d ON d.row = v.document ORDER BY d.id, v.version, v.section, v.number`)
	if got != want || strings.Count(got, "\n") < 20 {
		t.Errorf("there are vectors of the passages\n%s\nwant\n%s", got, want)
	}
}

func TestFilters(t *testing.T) {
	w := open(t)
	top, other := w.folder(uuid.Nil), w.folder(uuid.Nil)
	sub := w.folder(top)
	inTop := w.document(top, []string{"red", "round"}, "The ship in the top folder.")
	inSub := w.document(sub, []string{"red"}, "The ship in the lower folder.")
	inOther := w.document(other, nil, "The ship in another folder.")
	w.ApplyAll()
	ids := func(folders ...uuid.UUID) (ids []string) {
		for _, f := range folders {
			ids = append(ids, f.String())
		}
		return ids
	}
	check := func(name string, q searchindex.Query, documents ...uuid.UUID) {
		t.Helper()
		var want []string
		for _, d := range documents {
			want = append(want, passages.ID(d.String(), 1, 0, 0))
		}
		got := w.nearest(q, "ship", 10)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", name, got, want)
		}
	}
	check("all", all, inTop, inSub, inOther)
	check("no grants", searchindex.Query{})
	check("grant of top", searchindex.Query{Granted: ids(top)}, inTop, inSub)
	check("grant of sub", searchindex.Query{Granted: ids(sub)}, inSub)
	check("grants", searchindex.Query{Granted: ids(sub, other)}, inSub, inOther)
	check("grant of an unknown folder", searchindex.Query{Granted: ids(uuid.New())})
	check("folder", searchindex.Query{All: true, Folders: ids(top)}, inTop, inSub)
	check("folder and grant", searchindex.Query{Granted: ids(sub), Folders: ids(top)}, inSub)
	check("folder inside grants", searchindex.Query{Granted: ids(top), Folders: ids(sub), Inside: true}, inSub)
	check("folder without grant", searchindex.Query{Granted: ids(other), Folders: ids(top)})
	check("document", searchindex.Query{All: true, Document: inSub.String()}, inSub)
	check("document without grant", searchindex.Query{Granted: ids(other), Document: inSub.String()})
	check("tag", searchindex.Query{All: true, Tags: []string{"red"}}, inTop, inSub)
	check("tags", searchindex.Query{All: true, Tags: []string{"red", "round", "red"}}, inTop)
	check("any tag", searchindex.Query{All: true, Tags: []string{"red", "round"}, AnyTag: true}, inTop, inSub)
	check("unknown tag", searchindex.Query{All: true, Tags: []string{"blue"}})

	w.append(events.Folders, events.FolderMoved{Folder: sub, Parent: other})
	w.append(events.DocumentStream(inTop), events.DocumentTagged{Version: 2}, events.DocumentMoved{Version: 3, Folder: sub})
	w.ApplyAll()
	check("after moves", searchindex.Query{Granted: ids(other)}, inTop, inSub, inOther)
	check("after a change of tags", searchindex.Query{All: true, Tags: []string{"round"}})
}

// Deleted documents leave nothing of their texts behind.
func TestDeletion(t *testing.T) {
	w := open(t)
	top := w.folder(uuid.Nil)
	sub := w.folder(top)
	first := w.document(top, nil, "The ship.", "The car.")
	w.document(sub, nil, "The car.")
	w.ApplyAll()
	w.append(events.DocumentStream(first), events.DocumentDeleted{Version: 2})
	w.append(events.Folders, events.FolderDeleted{Folder: top})
	late := w.document(sub, nil, "The ship.") // its folder was deleted before
	moved := w.document(w.folder(uuid.Nil), nil, "The ship.")
	w.append(events.DocumentStream(moved), events.DocumentMoved{Version: 2, Folder: sub})
	w.ApplyAll()
	for _, table := range []string{"documents", "vectors", "signs"} {
		if n := projectionstest.Number(t, w.DB(), `SELECT count(*) FROM `+table); n != 0 {
			t.Errorf("%d rows of %s remain after everything was deleted; the last documents are %s and %s", n, table, late, moved)
		}
	}
}

func TestNewContent(t *testing.T) {
	w := open(t)
	id := w.document(w.folder(uuid.Nil), nil, "The ship.", "The rest stays the same.")
	w.ApplyAll()
	before := len(w.endpoint.Texts())
	w.append(events.DocumentStream(id), events.DocumentRevised{Version: 2, Content: w.content(id, 1, []string{"The car.", "The rest stays the same."})})
	w.ApplyAll()
	got := w.nearest(all, "car", 10)
	slices.Sort(got)
	if want := []string{passages.ID(id.String(), 2, 0, 0), passages.ID(id.String(), 2, 1, 0)}; !slices.Equal(got, want) {
		t.Errorf("found %v after a revision, want %v", got, want)
	}
	made := w.endpoint.Texts()[before:]
	if i := slices.Index(made, "car"); i >= 0 {
		made = slices.Delete(made, i, i+1) // the query
	}
	if want := []string{"Title\nThe car."}; !slices.Equal(made, want) {
		t.Errorf("vectors were made of %q, want only of the changed text %q", made, want)
	}
}

// While the endpoint is away, the tables continue, and later nothing is missing.
func TestEndpointAway(t *testing.T) {
	w := open(t)
	away := func(b *embeddingstest.Behaviour) {
		b.Status = func(int, []string) int { return http.StatusForbidden }
	}
	home := w.folder(uuid.Nil)
	w.endpoint.Set(away)
	id := w.document(home, nil, "The ship.")
	if err := w.CatchUp(t.Context(), projectionstest.Head(t, w.log), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DoDeferred(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("DoDeferred without an endpoint: %v, want fault.Unavailable", err)
	}
	var at, parked int
	if err := w.DB().QueryRowContext(t.Context(), new(vectors.Projection).Reached()).Scan(&at, &parked); err != nil || at != int(w.Position())-1 {
		t.Errorf("Reached = %d, %v while a document waits, want %d", at, err, w.Position()-1)
	}
	w.endpoint.Set(func(b *embeddingstest.Behaviour) { b.Status = nil })
	w.DoAllDeferred()
	if got := w.nearest(all, "ship", 10); len(got) != 1 || !strings.HasPrefix(got[0], id.String()) {
		t.Errorf("found %v, want a passage of %s", got, id)
	}
	if err := w.DB().QueryRowContext(t.Context(), new(vectors.Projection).Reached()).Scan(&at, &parked); err != nil || at != int(w.Position()) {
		t.Errorf("Reached = %d, %v when no document waits, want %d", at, err, w.Position())
	}
}

// Work is done in pieces, so that a long document is not lost as a whole.
func TestPieces(t *testing.T) {
	w := open(t)
	home := w.folder(uuid.Nil)
	texts := make([]string, 700)
	for i := range texts {
		texts[i] = fmt.Sprintf("The %d. ship.", i)
	}
	w.document(home, nil, texts...)
	last := w.document(home, nil, "The car.")
	if err := w.CatchUp(t.Context(), projectionstest.Head(t, w.log), nil); err != nil {
		t.Fatal(err)
	}
	for pieces := 0; ; pieces++ {
		before := w.endpoint.Requests()
		more, err := w.DoDeferred(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := w.endpoint.Requests() - before; n > 9 {
			t.Errorf("piece %d: %d requests, want a bounded piece", pieces, n)
		}
		if !more {
			if pieces != 3 {
				t.Errorf("%d pieces for 701 passages, want 3", pieces)
			}
			break
		}
	}
	if n := projectionstest.Number(t, w.DB(), `SELECT count(*) FROM vectors`); n != 701 {
		t.Errorf("%d vectors of 701 passages", n)
	}
	if got, want := w.nearest(all, "automobile", 1), []string{passages.ID(last.String(), 1, 0, 0)}; !slices.Equal(got, want) {
		t.Errorf("nearest: %v, want %v", got, want)
	}
}

// A rebuild asks the endpoint for nothing that another generation has.
func TestRebuildAsksNothingAgain(t *testing.T) {
	log, dir, endpoint := projectionstest.NewLog(t), t.TempDir(), embeddingstest.Start(t, alike)
	_, last := projectionstest.ImportDocuments(t, log, 5)
	o := projectionstest.Options(t, log, dir)
	o.Embedder = endpoint.Client()
	served, _ := projectionstest.Serve(t, o)
	r := served.Runner(vectors.Name)
	reached := func() bool {
		at, err := r.Reached(t.Context())
		return err == nil && at >= last
	}
	projectionstest.Until(t, r, reached)
	before := endpoint.Requests()
	rebuild := projectionstest.Options(t, log, dir)
	rebuild.Embedder = endpoint.Client()
	number, err := rebuild.Rebuild(t.Context(), vectors.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	projectionstest.UntilServes(t, r, number)
	if n := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM vectors`); n != 5 {
		t.Errorf("%d vectors after a rebuild, want 5", n)
	}
	if n := endpoint.Requests() - before; n > 0 {
		t.Errorf("a rebuild sent %d requests, want none", n)
	}

	// With another model the old vectors serve until the new ones are complete, and new
	// documents get vectors of the old model until then.
	settings := endpoint.Settings()
	settings.Model = "other"
	_, last = projectionstest.ImportDocument(t, log, uuid.New(), "car")
	projectionstest.Until(t, r, reached)
	rebuild.Embedder = withModel{endpoint.Client(), "other"}
	if number, err = rebuild.Rebuild(t.Context(), vectors.Name, nil); err != nil {
		t.Fatal(err)
	}
	projectionstest.UntilServes(t, r, number)
	if m, err := vectors.ModelOf(t.Context(), r.DB()); err != nil || m.Name != "other" {
		t.Errorf("ModelOf after a rebuild with another model = %+v, %v", m, err)
	}
	if n := endpoint.Requests() - before; n < 2 {
		t.Errorf("%d requests for a new document and a new model, want 2 or more", n)
	}
}

func TestRebuildWithoutEndpointIsRefused(t *testing.T) {
	o := projectionstest.Options(t, projectionstest.NewLog(t), t.TempDir())
	if _, err := o.Rebuild(t.Context(), vectors.Name, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("Rebuild without an endpoint: %v, want fault.Invalid", err)
	}
	for _, m := range o.Models() {
		if m.Projection.Name() == vectors.Name {
			t.Error("a service without an endpoint has vectors")
		}
	}
}

type withModel struct {
	readmodel.Embedder
	model string
}

func (w withModel) Model() (string, int) { return w.model, embeddingstest.Dimensions }

// noEngine is a search engine that finds nothing.
type noEngine struct{}

func (noEngine) Apply(context.Context, searchindex.Batch) error    { return nil }
func (noEngine) Position(context.Context) (events.Position, error) { return 0, nil }
func (noEngine) Count(context.Context) (uint64, error)             { return 0, nil }
func (noEngine) Each(context.Context, func(string) error) error    { return nil }
func (noEngine) Search(context.Context, searchindex.Query) ([]searchindex.Hit, error) {
	return nil, nil
}
func (noEngine) Close() error { return nil }
