package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/engine"
	"annals/events"

	blevesearch "github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	blevequery "github.com/blevesearch/bleve/v2/search/query"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

const (
	benchTops      = 100
	benchSubs      = 100 // folders in each top-level folder
	benchDocuments = 25_000
	benchSections  = 4 // passages of each document
	benchGrants    = 500
	benchReader    = "reader"
	benchHits      = 10
)

// benchLibrary is the generated content that BenchmarkSearchOverHTTP searches. The
// server and the baseline, an index of plain bleve, get the same passages.
type benchLibrary struct {
	tops, subs []uuid.UUID
	granted    []uuid.UUID // the subs that the user may read
}

func newBenchLibrary() *benchLibrary {
	l := new(benchLibrary)
	for i := range benchTops {
		l.tops = append(l.tops, uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "top %d", i)))
	}
	for i := range benchTops * benchSubs {
		l.subs = append(l.subs, uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "sub %d", i)))
	}
	for i := range benchGrants {
		l.granted = append(l.granted, l.subs[i*17%len(l.subs)])
	}
	return l
}

// document returns the id, the folder (an index of subs) and the section texts of
// document i.
func (l *benchLibrary) document(i int) (id uuid.UUID, sub int, sections []string) {
	random := rand.New(rand.NewPCG(1, uint64(i)))
	sub = random.IntN(len(l.subs))
	for range benchSections {
		var b strings.Builder
		for word := range 150 {
			b.WriteString(zipfWord(random))
			if word%15 == 14 {
				b.WriteByte('.')
			}
			b.WriteByte(' ')
		}
		sections = append(sections, b.String())
	}
	return uuid.NewSHA1(l.subs[sub], fmt.Append(nil, i)), sub, sections
}

// zipfWord returns one of 60,000 words, with frequencies like those of natural
// language.
func zipfWord(random *rand.Rand) string {
	n := int(math.Exp(random.Float64()*math.Log(60_000))) - 1
	return "ba" + string(rune('a'+n%26)) + "ol" + strconv.FormatInt(int64(n), 26)
}

func zipfQuestion(random *rand.Rand) string {
	words := make([]string, 3+random.IntN(6))
	for i := range words {
		words[i] = zipfWord(random)
	}
	return strings.Join(words, " ")
}

// write appends the library to a new log. Many concurrent appends share each disk sync.
func (l *benchLibrary) write(ctx context.Context, dataDir string) error {
	driver, err := engine.OpenLog(ctx, engine.LogFlag, "", dataDir, engine.MayCreate)
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	defer log.Close()
	if err := l.writeFolders(ctx, log); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(128)
	for i := range benchDocuments {
		g.Go(func() error { return l.writeDocument(ctx, log, i) })
	}
	return g.Wait()
}

var benchCause = events.Cause{Actor: "user:owner", Via: "benchmark"}

func (l *benchLibrary) writeFolders(ctx context.Context, log *events.Log) error {
	var all []events.New
	for i, top := range l.tops {
		all = append(all, events.New{Data: events.FolderCreated{Folder: top, Name: fmt.Sprint("top ", i), Owner: "user:owner"}})
	}
	for i, sub := range l.subs {
		all = append(all, events.New{Data: events.FolderCreated{Folder: sub, Parent: l.tops[i/benchSubs], Name: fmt.Sprint("sub ", i)}})
	}
	for _, sub := range l.granted {
		all = append(all, events.New{Data: events.FolderShared{Folder: sub, Permissions: []events.Permission{{Principal: "user:" + benchReader, Access: "read"}}}})
	}
	expected := events.NoStream
	for len(all) > 0 {
		n := min(len(all), 500)
		if _, err := log.Append(ctx, events.Folders, expected, benchCause, all[:n]...); err != nil {
			return err
		}
		expected, all = expected+int64(n), all[n:]
	}
	return nil
}

func (l *benchLibrary) writeDocument(ctx context.Context, log *events.Log, i int) error {
	id, sub, sections := l.document(i)
	var text []events.New
	for index, s := range sections {
		title := strings.SplitN(s, " ", 2)[0]
		text = append(text, events.New{Data: events.SectionExtracted{Index: index, Level: 1, Title: title, Path: []string{title}, Text: s}})
	}
	stream := events.TextStream(id, 0)
	if _, err := log.Append(ctx, stream, events.NoStream, benchCause, text...); err != nil {
		return err
	}
	_, err := log.Append(ctx, events.DocumentStream(id), events.NoStream, benchCause, events.New{Data: events.DocumentImported{
		Version: 1, Folder: l.subs[sub], Name: fmt.Sprintf("%d.md", i), Content: events.Content{
			SHA256: fmt.Sprintf("%064x", i), Size: 4000, MediaType: "text/markdown", Title: fmt.Sprint("document ", i),
			TextStream: stream, Sections: len(sections), Extractor: 1,
		},
	}})
	return err
}

// bareIndex indexes the same passages with plain bleve, with the English analyzer of
// bleve and BM25.
func (l *benchLibrary) bareIndex(b *testing.B) blevesearch.Index {
	m := blevesearch.NewIndexMapping()
	m.ScoringModel = "bm25"
	text := mapping.NewTextFieldMapping()
	text.Analyzer, text.Store, text.IncludeTermVectors, text.DocValues = en.AnalyzerName, false, false, false
	folders := mapping.NewTextFieldMapping()
	folders.Analyzer, folders.Store, folders.IncludeTermVectors, folders.DocValues = keyword.Name, false, false, false
	m.DefaultMapping = mapping.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt("text", text)
	m.DefaultMapping.AddFieldMappingsAt("folders", folders)
	x, err := blevesearch.NewUsing(filepath.Join(b.TempDir(), "bare"), m, "scorch", "scorch", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.Close() })
	batch := x.NewBatch()
	for i := range benchDocuments {
		id, sub, sections := l.document(i)
		for number, s := range sections {
			err := batch.Index(fmt.Sprintf("%s/1/%d/0", id, number), map[string]any{
				"text": s, "folders": []string{l.subs[sub].String(), l.tops[sub/benchSubs].String()},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		if batch.Size() >= 2000 || i == benchDocuments-1 {
			if err := x.Batch(batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	return x
}

func (l *benchLibrary) searchBare(ctx context.Context, x blevesearch.Index, question string, filtered bool) error {
	words := blevesearch.NewMatchQuery(question)
	words.SetField("text")
	var q blevequery.Query = words
	if filtered {
		var granted []blevequery.Query
		for _, id := range l.granted {
			one := blevesearch.NewTermQuery(id.String())
			one.SetField("folders")
			granted = append(granted, one)
		}
		within := blevequery.NewBooleanQuery(nil, []blevequery.Query{words}, nil)
		within.AddFilter(blevesearch.NewDisjunctionQuery(granted...))
		q = within
	}
	_, err := x.SearchInContext(ctx, blevesearch.NewSearchRequestOptions(q, benchHits, 0, false))
	return err
}

// BenchmarkSearchOverHTTP searches 100,000 passages in 10,000 folders through the REST
// interface: as a user with grants on 500 of the folders and as an administrator, each
// with one and with four concurrent clients. The baseline searches the same passages in
// plain bleve with the same question and folder filter. Server and baseline alternate.
// cpu-ms and bare-cpu-ms are the CPU times of the server and of the baseline for one
// search, which depend less on other load on the machine.
func BenchmarkSearchOverHTTP(b *testing.B) {
	l := newBenchLibrary()
	s := serveBench(b, func(dataDir string) {
		if err := l.write(b.Context(), dataDir); err != nil {
			b.Fatal(err)
		}
	})
	begun := time.Now()
	s.awaitReady()
	ready := time.Since(begun)
	bare := l.bareIndex(b)
	admin, err := issueToken(s.data, "admin")
	if err != nil {
		b.Fatal(err)
	}
	reader := s.addUser(benchReader)
	for _, who := range []struct {
		name, token string
		filtered    bool
	}{{"granted", reader, true}, {"admin", admin, false}} {
		for _, clients := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/clients=%d", who.name, clients), func(b *testing.B) {
				var cpu [2]time.Duration
				searches := 0
				ours := func(ctx context.Context, question string) error {
					if clients == 1 {
						before := s.cpu()
						defer func() { cpu[0] += s.cpu() - before }()
						searches++
					}
					found, err := s.search(ctx, who.token, question)
					if err == nil && found != benchHits {
						err = fmt.Errorf("%d passages were found for %q, want %d", found, question, benchHits)
					}
					return err
				}
				theirs := func(ctx context.Context, question string) error {
					if clients == 1 {
						before := cpuOf(os.Getpid())
						defer func() { cpu[1] += cpuOf(os.Getpid()) - before }()
					}
					return l.searchBare(ctx, bare, question, who.filtered)
				}
				besideOther(b, clients, "bare", ours, theirs)
				if clients == 1 {
					b.ReportMetric(cpu[0].Seconds()*1e3/float64(searches), "cpu-ms")
					b.ReportMetric(cpu[1].Seconds()*1e3/float64(searches), "bare-cpu-ms")
					b.ReportMetric(cpu[0].Seconds()/cpu[1].Seconds(), "cpu/bare")
				}
				b.ReportMetric(ready.Seconds(), "catch-up-s")
			})
		}
	}
}

// besideOther sends the same questions to ours and theirs, alternating after every
// twenty questions, and reports the response times. Because whichever runs second may
// profit from caches that the first one filled, each runs second equally often.
func besideOther(b *testing.B, clients int, other string, ours, theirs func(context.Context, string) error) {
	const turn = 20
	random := rand.New(rand.NewPCG(2, 2))
	var took [2][]time.Duration
	sides := [2]func(context.Context, string) error{ours, theirs}
	for b.Loop() {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			questions := make([]string, turn)
			for i := range questions {
				questions[i] = zipfQuestion(random)
			}
			for _, side := range order {
				times, err := timed(b.Context(), clients, questions, sides[side])
				if err != nil {
					b.Fatal(err)
				}
				took[side] = append(took[side], times...)
			}
		}
	}
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", .5}, {"p95", .95}} {
		o, t := quantile(took[0], q.at), quantile(took[1], q.at)
		b.ReportMetric(o.Seconds()*1e3, q.name+"-ms")
		b.ReportMetric(t.Seconds()*1e3, other+"-"+q.name+"-ms")
		b.ReportMetric(o.Seconds()/t.Seconds(), q.name+"/"+other)
	}
}

// timed sends questions from concurrent clients and returns the response times.
func timed(ctx context.Context, clients int, questions []string, search func(context.Context, string) error) ([]time.Duration, error) {
	times := make([]time.Duration, len(questions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(clients)
	for i, question := range questions {
		g.Go(func() error {
			begun := time.Now()
			err := search(ctx, question)
			times[i] = time.Since(begun)
			return err
		})
	}
	return times, g.Wait()
}

// search sends one search request and returns the number of passages in the reply.
func (s *benchServer) search(ctx context.Context, token, question string) (int, error) {
	var found struct {
		Sources []struct {
			Text string `json:"text"`
		} `json:"sources"`
	}
	err := s.post(ctx, token, "/core/search", map[string]string{"query": question}, &found)
	return len(found.Sources), err
}

// post sends a body as JSON and decodes the reply.
func (s *benchServer) post(ctx context.Context, token, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	reply, err := s.core.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if text, err = io.ReadAll(reply.Body); err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil || reply.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %d %s", path, reply.StatusCode, text)
	}
	return nil
}
