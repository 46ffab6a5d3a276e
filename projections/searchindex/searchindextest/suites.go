package searchindextest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// collections returns the folder of the development collections: shared/corpora/dev in
// any folder above the working directory. It skips the test if that does not exist.
func collections(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		found := filepath.Join(dir, "shared", "corpora", "dev")
		if _, err := os.Stat(found); err == nil {
			return found
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no parent folder has shared/corpora/dev")
		}
	}
}

func loadSuites(t *testing.T) []suite {
	dev := collections(t)
	cranfield, med := loadIR(t, dev, "cranfield"), loadIR(t, dev, "med")
	suites := []suite{cranfield, med, loadIR(t, dev, "scifact-train"), loadSquad(t, dev), cranfield.long(2), med.long(8)}
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Log("the program zstd is missing: the suites tldr-en and gutenberg are skipped")
		return suites
	}
	return append(suites, loadTree(t, dev, "tldr-en"), loadNovels(t, dev))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	var b []byte
	var err error
	switch filepath.Ext(path) {
	case ".zst":
		b, err = exec.CommandContext(t.Context(), "zstd", "-dcq", path).Output()
	case ".gz":
		var f *os.File
		if f, err = os.Open(path); err == nil {
			defer f.Close()
			var z *gzip.Reader
			if z, err = gzip.NewReader(f); err == nil {
				b, err = io.ReadAll(z)
			}
		}
	default:
		b, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return b
}

func readLines[T any](t *testing.T, path string) []T {
	t.Helper()
	var all []T
	for line := range bytes.Lines(read(t, path)) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		all = append(all, v)
	}
	return all
}

func loadIR(t *testing.T, dev, name string) suite {
	s := suite{name: name, folder: name}
	dir := filepath.Join(dev, "ir", name)
	type record struct {
		ID    string `json:"_id"`
		Title string `json:"title"`
		Text  string `json:"text"`
	}
	for _, r := range readLines[record](t, filepath.Join(dir, "corpus.jsonl.gz")) {
		d := document{name: r.ID, title: r.Title, sections: []section{{r.Title, r.Text}}}
		if d.title == "" {
			d.title = name + "-" + r.ID
		}
		s.documents = append(s.documents, d)
	}
	gains := make(map[string]map[string]float64)
	lines := bufio.NewScanner(bytes.NewReader(read(t, filepath.Join(dir, "qrels.tsv"))))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if g := number(fields[2]); g > 0 {
			if gains[fields[0]] == nil {
				gains[fields[0]] = make(map[string]float64)
			}
			gains[fields[0]][fields[1]] = g
		}
	}
	for _, r := range readLines[record](t, filepath.Join(dir, "queries.jsonl")) {
		if g := gains[r.ID]; g != nil {
			s.queries = append(s.queries, query{text: r.Text, gains: g})
		}
	}
	return s
}

// long returns a suite with long queries: the whole text of a document that is relevant to
// a query has to find the other relevant ones. It takes up to n documents for each query
// that has four relevant documents or more.
func (s suite) long(n int) suite {
	texts := make(map[string]string)
	for _, d := range s.documents {
		texts[d.name] = d.sections[0].text
	}
	l := suite{name: s.name + ", long", folder: s.folder}
	for _, q := range s.queries {
		if len(q.gains) < 4 {
			continue
		}
		for _, from := range slices.Sorted(maps.Keys(q.gains))[:min(n, len(q.gains)-2)] {
			others := maps.Clone(q.gains)
			delete(others, from)
			l.queries = append(l.queries, query{text: texts[from], gains: others, from: from})
		}
	}
	return l
}

func loadSquad(t *testing.T, dev string) suite {
	s := suite{name: "squad", folder: "squad"}
	files, err := filepath.Glob(filepath.Join(dev, "squad", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s.documents = append(s.documents, markdown(filepath.Base(f), string(read(t, f))))
	}
	type question struct {
		Question   string
		Answers    []string
		Answerable bool
		Doc        string
	}
	for _, q := range readLines[question](t, filepath.Join(dev, "squad", "questions.jsonl")) {
		if q.Answerable {
			s.queries = append(s.queries, query{text: q.Question, document: q.Doc, answers: q.Answers})
		}
	}
	return s
}

func loadTree(t *testing.T, dev, name string) suite {
	s := suite{name: name, folder: name}
	files := tar.NewReader(bytes.NewReader(read(t, filepath.Join(dev, "trees", name+".tar.zst"))))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		if filepath.Ext(h.Name) != ".md" {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatalf("read %s: %v", h.Name, err)
		}
		_, path, _ := strings.Cut(h.Name, "/")
		s.documents = append(s.documents, markdown(path, string(text)))
	}
	type item struct{ Query, File string }
	for i, q := range readLines[item](t, filepath.Join(dev, "trees", name+".known_item.jsonl")) {
		if i%6 == 0 { // a sixth of the queries is enough
			s.queries = append(s.queries, query{text: q.Query, document: q.File})
		}
	}
	return s
}

// loadNovels makes a query from the first 14 words of every fifth paragraph.
func loadNovels(t *testing.T, dev string) suite {
	s := suite{name: "gutenberg", folder: "gutenberg"}
	files, err := filepath.Glob(filepath.Join(dev, "gutenberg", "*.zst"))
	if err != nil {
		t.Fatal(err)
	}
	blank := regexp.MustCompile(`\r?\n\s*\r?\n`)
	for _, f := range files {
		text := string(read(t, f))
		name := strings.TrimSuffix(filepath.Base(f), ".txt.zst")
		s.documents = append(s.documents, document{name: name, title: name, sections: []section{{"", text}}})
		for i, p := range blank.Split(text, -1) {
			if words := strings.Fields(p); i%5 == 0 && len(words) >= 15 && len(words) <= 60 {
				s.queries = append(s.queries, query{text: strings.Join(words[:14], " ")})
			}
		}
	}
	return s
}
