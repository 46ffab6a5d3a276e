package evaluation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/client"
)

// server is a server with a few documents: ids are their paths with a prefix.
type server struct {
	*httptest.Server
	found  map[string][]client.Passage // by query
	answer map[string]client.Answer    // by question
	tree   map[string][]string         // folders and, with an extension, documents by path of their folder

	mu      sync.Mutex
	queries []client.Query
}

func newServer(t *testing.T) *server {
	s := &server{found: make(map[string][]client.Passage), answer: make(map[string]client.Answer), tree: make(map[string][]string)}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, body any) { _ = json.NewEncoder(w).Encode(body) }
	query := func(w http.ResponseWriter, r *http.Request) (q client.Query, ok bool) {
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queries = append(s.queries, q)
		if strings.HasPrefix(q.Text, "long ") {
			http.Error(w, `{"detail": [{"msg": "the query is too long"}]}`, http.StatusUnprocessableEntity)
			return q, false
		}
		return q, true
	}
	mux.HandleFunc("POST /core/search", func(w http.ResponseWriter, r *http.Request) {
		if q, ok := query(w, r); ok {
			reply(w, map[string]any{"sources": s.found[q.Text]})
		}
	})
	mux.HandleFunc("POST /core/ask", func(w http.ResponseWriter, r *http.Request) {
		if q, ok := query(w, r); ok {
			reply(w, s.answer[q.Text])
		}
	})
	list := func(documents bool, parent func(*http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			at, all := strings.TrimPrefix(parent(r), "id:"), []map[string]string{}
			for _, name := range s.tree[at] {
				if (filepath.Ext(name) != "") == documents {
					all = append(all, map[string]string{"id": "id:" + strings.TrimPrefix(at+"/"+name, "/"), "name": name})
				}
			}
			reply(w, all)
		}
	}
	mux.HandleFunc("GET /vault/documents", list(true, func(r *http.Request) string { return r.URL.Query().Get("folderId") }))
	mux.HandleFunc("GET /vault/folders", func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Query().Get("path"); path != "" {
			reply(w, []map[string]string{{"id": "id:" + path, "name": path}})
			return
		}
		list(false, func(r *http.Request) string { return r.URL.Query().Get("parentFolderId") })(w, r)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *server) options(dir string) (Options, *bytes.Buffer, *bytes.Buffer) {
	c := client.Client{
		URL: s.URL + "/core", HTTP: client.NewHTTPClient(2), Tries: 1, Pause: time.Millisecond,
		Credential: client.Credential{Token: client.FixedToken("x")}, Notify: func(string) {},
	}
	vault := &client.Vault{Client: c}
	vault.URL = s.URL + "/vault"
	var out, errs bytes.Buffer
	return Options{Core: &client.Core{Client: c}, Vault: vault, Dir: dir, Threshold: Threshold, Workers: 2, Program: "test", Out: &out, Err: &errs}, &out, &errs
}

func passage(document string, pages [2]int, text string) client.Passage {
	return client.Passage{Document: "id:" + document, StartPage: pages[0], EndPage: pages[1], Text: text}
}

// sample is a collection with the replies to it.
func sample(t *testing.T) (s *server, dir string) {
	s = newServer(t)
	s.tree[""], s.tree["lights"] = []string{"lights"}, []string{"deep", "a.md", "b.md"}
	s.tree["lights/deep"] = []string{"c.pdf"}
	s.found["wings"] = []client.Passage{passage("lights/x.md", [2]int{}, ""), passage("lights/a.md", [2]int{}, ""), passage("lights/a.md", [2]int{}, ""), passage("lights/deep/c.pdf", [2]int{}, "")}
	s.found["Who built it?"] = []client.Passage{passage("lights/deep/c.pdf", [2]int{4, 5}, "It was built by John Smeaton in 1759.")}
	s.answer["Who built it?"] = client.Answer{Text: "Built by the John Smeaton", Confidence: .9, Sources: s.found["Who built it?"]}
	s.found["When?"] = []client.Passage{passage("lights/a.md", [2]int{}, "1759"), passage("lights/deep/c.pdf", [2]int{1, 1}, "In 1759.")}
	s.answer["When?"] = client.Answer{Text: "In 1760", Confidence: .5, Sources: s.found["When?"][:1]}
	s.answer["Why?"] = client.Answer{Text: "No answer", Confidence: .1}
	s.answer["How?"] = client.Answer{Text: "By hand", Confidence: .7}
	return s, folder(t, map[string]string{
		"queries.jsonl": `{"_id": "1", "text": "wings"}` + "\n" + `{"_id": "2", "text": "long tails"}`,
		"qrels.txt":     "1 0 a 1\n1 0 lights/deep/c.pdf 2\n2 0 b.md 1\n",
		"questions.jsonl": `{"id": "p", "question": "Who built it?", "answers": ["John Smeaton"], "document": "c.pdf", "page": 5}
{"id": "q", "question": "When?", "answers": ["1759"], "document": "deep/c.pdf"}
{"id": "r", "question": "Why?", "abstain": true}
{"id": "s", "question": "How?", "is_impossible": true}
`,
	})
}

func TestRun(t *testing.T) {
	s, dir := sample(t)
	o, out, errs := s.options(dir)
	o.Folder, o.JSON, o.Generation, o.Save = "lights", true, 7, filepath.Join(t.TempDir(), "saved.json")
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err, errs)
	}
	var report Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	const log3 = 1.584962500721156
	want := map[string]float64{
		// Query 1 has relevant documents at ranks 2 (gain 1) and 3 (gain 2); query 2 is refused.
		"retrieval nDCG@10": (1/log3 + 2.0/2) / (2 + 1/log3) / 2, "retrieval recall@1": 0, "retrieval recall@5": .5, "retrieval recall@10": .5,
		"retrieval MRR@10": .25, "retrieval hit@1": 0,
		"passages document@1": .5, "passages document@5": 1, "passages page@1": 1, "passages answer@1": .5, "passages answer@5": 1,
		// "built by john smeaton" has two of four words; "in 1760" has none.
		"answers contains": .5, "answers exact": 0, "answers F1": (2 * .5 * 1 / 1.5) / 2, "answers document": .5, "answers page": 1, "answers median words": 3.5,
		// Of the four pairs, .9 wins two, and .5 one against .1.
		"abstention AUROC": .75, "abstention precision": 1, "abstention recall": .5, "abstention answered": 1,
		"calibration expected error": (.1 + .5 + .1 + .7) / 4,
	}
	for _, m := range report.Measures {
		name := m.Section + " " + m.Name
		if m.Section == "latency" {
			continue
		}
		if _, ok := want[name]; !ok {
			t.Errorf("%s is measured", name)
		}
		near(t, name, m.Value, want[name])
		delete(want, name)
	}
	if len(want) > 0 || report.Errors != 1 || report.Generation != 7 || report.Folder != "lights" || len(report.Items) > 0 {
		t.Errorf("missing %v in %+v", want, report)
	}
	for _, q := range s.queries {
		if q.Folder != "lights" || q.Generation != 7 {
			t.Errorf("sent %+v", q)
		}
	}
	if strings.Contains(errs.String(), "warning") {
		t.Errorf("printed %s", errs)
	}
}

func TestCompare(t *testing.T) {
	s, dir := sample(t)
	o, out, _ := s.options(dir)
	o.Folder, o.Save = "lights", filepath.Join(t.TempDir(), "saved.json")
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "retrieval    nDCG@10") || !strings.Contains(out.String(), "0.9 to 1.0  1        1.00   0.90") || !strings.Contains(out.String(), "refused by the server, counted as not found: 1 (the server responds 422: the query is too long)") {
		t.Errorf("printed %s", out)
	}
	if info, err := os.Stat(o.Save); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("saved %v, %v", info, err)
	}

	// The document of query 1 moves to the first rank, the answer to q becomes right, and a
	// question is added.
	s.found["wings"] = s.found["wings"][1:]
	s.answer["When?"] = client.Answer{Text: "1759", Confidence: .8}
	f, err := os.OpenFile(filepath.Join(dir, "questions.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"id": "new", "question": "New?", "abstain": true}`)
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	o.Compare, o.Save = o.Save, ""
	out.Reset()
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"retrieval    MRR@10          0.2500  0.5000  +0.2500     1.0000  2", // one change only, so both signs are as extreme
		"answers      contains        0.5000  1.0000  +0.5000     1.0000  2",
		"abstention   AUROC           0.7500  1.0000  +0.2500             4",
		"query     1  wings  0.620 → 0.860",
		"question  q  When?  0.000 → 1.000",
		"left out because they are not the same in both: 1",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in\n%s", line, out)
		}
	}

	o.Compare = filepath.Join(dir, "queries.jsonl")
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "its format is 0") {
		t.Errorf("compare with another file: %v", err)
	}
	o.Compare = filepath.Join(dir, "nothing.json")
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("compare with no file: %v", err)
	}
}

func TestDocumentsAreNamed(t *testing.T) {
	s := newServer(t)
	s.tree[""] = []string{"one", "two"}
	s.tree["one"], s.tree["two"] = []string{"a.md", "same.md", "b.txt"}, []string{"same.md", "a", "b.md"}
	s.tree["two/a"] = []string{"c.md"}
	const id = "0f5c28a2-54d5-5f4e-8a0e-0f4cf4b5a1c7"
	for name, want := range map[string]string{
		"one/a.md": "id:one/a.md", "/one/a.md": "id:one/a.md", "a.md": "id:one/a.md", "a": "id:one/a.md", "c": "id:two/a/c.md",
		"one/same.md": "id:one/same.md", "b.md": "id:two/b.md", id: id,
	} {
		o, _, errs := s.options("")
		got, err := resolve(t.Context(), o.Vault, client.Folder{}, map[string]mention{name: {"qrels.txt", 3}}, errs)
		if err != nil || got[name] != want {
			t.Errorf("%q is %q, want %q (%v)", name, got[name], want, err)
		}
	}
	for name, want := range map[string]string{
		"same.md": `qrels.txt:3: several documents are called "same.md"`, "b": `several documents are called "b"`,
		"none.md": `qrels.txt:3: there is no document "none.md" that you may read; none of the 1 documents is there`,
	} {
		o, _, errs := s.options("")
		if _, err := resolve(t.Context(), o.Vault, client.Folder{}, map[string]mention{name: {"qrels.txt", 3}}, errs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	// In a folder, names mean only its documents.
	o, _, errs := s.options("")
	got, err := resolve(t.Context(), o.Vault, client.Folder{ID: "id:two", Name: "two"}, map[string]mention{"same.md": {}, "a/c.md": {}, "b.txt": {"qrels.txt", 9}}, errs)
	if err != nil || got["same.md"] != "id:two/same.md" || got["a/c.md"] != "id:two/a/c.md" || got["b.txt"] != "" {
		t.Errorf("names in a folder: %v, %v", got, err)
	}
	if !strings.Contains(errs.String(), `annals: warning: qrels.txt:9: there is no document "b.txt" that you may read; 1 of 3 documents are missing`) {
		t.Errorf("printed %s", errs)
	}
}

// An error that is not about the query ends the run.
func TestRunEndsWithTheServer(t *testing.T) {
	s, dir := sample(t)
	o, _, _ := s.options(dir)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"detail": "only administrators may choose a generation"}`, http.StatusForbidden)
	})
	if err := Run(t.Context(), o); err == nil || !strings.Contains(fmt.Sprint(err), "403: only administrators") {
		t.Errorf("Run = %v", err)
	}
}

func TestCheck(t *testing.T) {
	for want, o := range map[string]Options{
		"--workers is 0":     {Threshold: .5},
		"--workers is 17":    {Workers: 17},
		"--threshold is 2":   {Workers: 1, Threshold: 2},
		"--generation is -1": {Workers: 1, Generation: -1},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want %q", err, want)
		}
	}
}
