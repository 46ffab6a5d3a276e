package consoletest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/engine"
	"annals/events"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

const (
	paintDocuments = 100_000
	// paintLoads is the minimum number of times that a page is loaded.
	paintLoads = 10
)

// BenchmarkConsole measures the time until a browser paints the first text of a page (first
// contentful paint), for a user with 100,000 documents in one folder. The yardstick is a page of
// the same server that is a few bytes of text, loaded in turn with the other.
func BenchmarkConsole(b *testing.B) {
	s := newSite(b)
	s.stop(os.Interrupt)
	folder := uuid.New()
	first, err := writeLibrary(b.Context(), filepath.Join(s.dir, "data"), folder)
	if err != nil {
		b.Fatal(err)
	}
	s.start(b, nil, "--quota-documents", "0")
	s.awaitApplied(b)
	ids := s.importFiles(b, "alice", imported{"towers.pdf", "Lighthouses", pdf("Towers", "The tower of Bell Rock was built by Robert Stevenson in 1810.", "It stands off the coast of Angus."), nil})
	b.Logf("all script has %d bytes, the style %d", assetBytes(b, "*.js"), assetBytes(b, "*.css"))
	for user, pages := range map[string][]struct{ name, path string }{
		"alice": {
			{"first", "/"},
			{"ask", "/?q=Who+built+the+tower+of+Bell+Rock%3F"},
			{"ask_rare", "/?q=Which+captain+brought+" + cargo(7) + "%3F"},
			{"search", "/?q=harbour+report+of+April"},
			{"search_rare", "/?q=" + cargo(8) + "+" + cargo(9)},
			{"search_names", "/?q=harbour+report"},
			{"passage", s.passage(b, "harbour report of April")},
			{"passage_rare", s.passage(b, "Which captain brought "+cargo(7)+"?")},
			{"folders", "/folders"},
			{"folder", "/folders/" + folder.String()},
			{"folder_by_size", "/folders/" + folder.String() + "?sort=size&order=desc"},
			{"folder_by_name", "/folders/" + folder.String() + "?name=report+077"},
			{"folder_by_tag", "/folders/" + folder.String() + "?tag=monday"},
			{"document_text", "/documents/" + first.String()},
			{"document_page", "/documents/" + ids["towers.pdf"]},
			{"versions", "/documents/" + ids["towers.pdf"] + "/history"},
			{"rename", "/documents/" + first.String() + "/change?do=name"},
			{"share", "/folders/" + folder.String() + "/share"},
			{"import", "/import"},
			{"job", "/import/" + s.jobOf(b, "alice")},
			{"history", "/history"},
			{"account", "/account"},
		},
		"admin": {{"admin", "/admin"}, {"admin_events", "/admin/events"}, {"admin_users", "/admin/users"}},
	} {
		p := s.signedIn(b, user, "/")
		paint := func(path string) float64 {
			p.Open(s.base + path)
			text := p.Wait("the first paint", `performance.getEntriesByName("first-contentful-paint")[0]?.startTime`)
			if at := p.Run(`location.pathname + location.search`); at != path || p.Run(`document.querySelector("[role=alert], .viewer [role=status]")?.innerText`) != "" {
				b.Fatalf("in place of %s there is %s: %s", path, at, p.Run(`document.body.innerText`))
			}
			ms, err := strconv.ParseFloat(text, 64)
			p.Must(err)
			return ms
		}
		for _, page := range pages {
			b.Run(page.name, func(b *testing.B) {
				var took, bare []float64
				load := func() {
					bare = append(bare, paint("/healthz"))
					took = append(took, paint(page.path))
				}
				for b.Loop() {
					load()
				}
				for len(took) < paintLoads {
					load()
				}
				b.ReportMetric(median(took), "paint-ms")
				b.ReportMetric(slices.Max(took), "worst-ms")
				b.ReportMetric(median(bare), "bare-ms")
			})
		}
	}
}

// cargo returns a word that one of 200 documents has.
func cargo(i int) string {
	syllables := []string{"ba", "du", "fe", "go", "ki", "la", "mu", "ne", "po", "ri", "su", "to", "ve", "za", "tol"}
	return syllables[i%15] + syllables[i/15%15] + "nder"
}

// passage returns the address of a question of alice with the first passage open beside it.
func (s *site) passage(t testing.TB, question string) string {
	t.Helper()
	var found struct {
		Sources []struct {
			ID   string `json:"doc_id"`
			Text string
		}
	}
	body, err := json.Marshal(map[string]string{"query": question})
	if err != nil {
		t.Fatal(err)
	}
	s.rest(t, "alice", "POST", "/core/search", "application/json", bytes.NewReader(body), &found)
	if len(found.Sources) == 0 {
		t.Fatalf("nothing is found for %q", question)
	}
	hit := sha256.Sum256([]byte(found.Sources[0].Text))
	return "/?" + url.Values{"q": {question}, "open": {found.Sources[0].ID}, "hit": {hex.EncodeToString(hit[:6])}}.Encode()
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// assetBytes returns the size of all assets whose names match a pattern.
func assetBytes(t testing.TB, pattern string) (sum int64) {
	t.Helper()
	files, err := filepath.Glob("../../../http/console/assets/" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no assets %s: %v", pattern, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

// writeLibrary appends documents of alice, all in one folder, to a new log. Concurrent appends
// share each disk sync. It returns the id of the first document.
func writeLibrary(ctx context.Context, data string, folder uuid.UUID) (first uuid.UUID, err error) {
	driver, err := engine.OpenLog(ctx, engine.LogFlag, "", data, engine.MayCreate)
	if err != nil {
		return first, err
	}
	log := events.NewLog(driver)
	defer log.Close()
	cause := events.Cause{Actor: "user:alice", Via: "benchmark"}
	if _, err := log.Append(ctx, events.Folders, events.NoStream, cause, events.New{Data: events.FolderCreated{Folder: folder, Name: "Archive", Owner: "user:alice"}}); err != nil {
		return first, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(128)
	for i := range paintDocuments {
		g.Go(func() error { return writeDocument(ctx, log, cause, folder, i) })
	}
	return paintID(0), g.Wait()
}

func paintID(i int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, "document ", i))
}

func writeDocument(ctx context.Context, log *events.Log, cause events.Cause, folder uuid.UUID, i int) error {
	// Words of most questions are in few documents, those of the slowest in all.
	days := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	number := i * 7919 % paintDocuments // so that names are not in the order of the log
	id := paintID(i)
	stream := events.TextStream(id, 0)
	text := fmt.Sprintf("The harbour report number %d was written on a %s. It says that the light of tower %d was seen at %d miles, that the buoys %d to %d were painted in April, and that the keeper asked for %d barrels of oil. A captain brought %s and %s.",
		number, days[i%7], number%317, number%23, number%53, number%53+9, number%11, cargo(number%200), cargo(number/200%200))
	if _, err := log.Append(ctx, stream, events.NoStream, cause, events.New{Data: events.SectionExtracted{Level: 1, Title: fmt.Sprint("Report ", number), Path: []string{fmt.Sprint("Report ", number)}, Text: text}}); err != nil {
		return err
	}
	_, err := log.Append(ctx, events.DocumentStream(id), events.NoStream, cause, events.New{Data: events.DocumentImported{
		Version: 1, Folder: folder, Name: fmt.Sprintf("report %06d.md", number), Tags: []string{"report", days[i%7]},
		Content: events.Content{SHA256: fmt.Sprintf("%064x", i), Size: int64(1000 + number), MediaType: "text/markdown", Title: fmt.Sprint("Report ", number), TextStream: stream, Sections: 1, Extractor: 1, TextBytes: int64(len(text))},
	}})
	return err
}

type modelState struct{ Position, Head, Waiting int64 }

// awaitApplied waits until all read models have applied the log.
func (s *site) awaitApplied(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		reply, err := http.Get(s.base + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		var state struct {
			Models []modelState `json:"read_models"`
		}
		err = json.NewDecoder(reply.Body).Decode(&state)
		reply.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Models) > 0 && !slices.ContainsFunc(state.Models, func(m modelState) bool { return m.Position < max(m.Head, paintDocuments) || m.Waiting > 0 }) {
			return
		}
	}
	t.Fatal("the read models have not applied the log: " + strings.TrimSpace(s.stderr.String()))
}
