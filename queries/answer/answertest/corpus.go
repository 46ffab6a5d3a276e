// Package answertest has the questions and articles of the development corpora, for tests
// of quotations and of the check of composed sentences. It imports events/prose and
// queries/answer/matching.
package answertest

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"annals/events/prose"
	"annals/queries/answer/matching"

	"github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"
)

// Sample is a question of a corpus and the passages that a search found for it.
type Sample struct {
	Question   string   `json:"question"`
	Answers    []string `json:"answers"`
	Article    string   `json:"article"`
	Doc        string   `json:"doc"`
	Answerable bool     `json:"answerable"`
	Set        string   `json:"set"`

	Foreign  bool               `json:"foreign"` // it belongs to another corpus, so no passage answers it
	Passages []matching.Passage `json:"passages"`
	Docs     []string           `json:"docs"` // file of each passage
}

// Folds is the number of folds.
const Folds = 5

// Fold returns the fold of a question. Questions about one article are in the same fold.
func (a *Sample) Fold() int {
	h := fnv.New32a()
	h.Write([]byte(a.Article))
	return int(h.Sum32()>>8) % Folds
}

// Corpus returns the development questions with their passages. It skips the test if the
// corpora are not in a folder above the package.
func Corpus(t testing.TB) []Sample {
	t.Helper()
	qs, err := loaded()
	if os.IsNotExist(err) {
		t.Skip("there is no folder shared/corpora/dev/squad with the development corpora")
	}
	if err != nil {
		t.Fatal(err)
	}
	return qs
}

var samplesFile = flag.String("samples", "", "read the questions, each with the passages that a service found for it, from this file of JSON lines")

// recorded reads the file of -samples.
func recorded(path string) ([]Sample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Sample
	d := json.NewDecoder(bufio.NewReader(file))
	for d.More() {
		var x Sample
		if err := d.Decode(&x); err != nil {
			return nil, err
		}
		n := min(len(x.Passages), matching.MaxPassages)
		x.Passages, x.Docs = x.Passages[:n], x.Docs[:n]
		all = append(all, x)
	}
	return all, nil
}

var loaded = sync.OnceValues(func() ([]Sample, error) {
	if *samplesFile != "" {
		return recorded(*samplesFile)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		d := filepath.Join(dir, "shared", "corpora", "dev", "squad")
		if _, err := os.Stat(d); err == nil {
			return load(d)
		}
		if dir == filepath.Dir(dir) {
			return nil, os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
})

func load(dir string) ([]Sample, error) {
	s, err := newSearcher(filepath.Join(dir, "docs"))
	if err != nil {
		return nil, err
	}
	defer s.index.Close()
	var all []Sample
	for _, name := range []string{"questions.jsonl", "foreign_questions.jsonl"} {
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			a := Sample{Set: "squad", Foreign: name == "foreign_questions.jsonl"}
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				return nil, err
			}
			if err := s.search(&a); err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// searcher is a simple BM25 search over chunks of sections.
type searcher struct {
	index    bleve.Index
	passages []matching.Passage
	docs     []string
}

func newSearcher(dir string) (*searcher, error) {
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = "en"
	m.ScoringModel = index.BM25Scoring
	text := mapping.NewTextFieldMapping()
	text.Analyzer = "en"
	text.Store = false
	m.DefaultMapping.AddFieldMappingsAt("text", text)
	ix, err := bleve.NewMemOnly(m)
	if err != nil {
		return nil, err
	}
	s := &searcher{index: ix}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		s.chunk(f.Name(), string(b))
	}
	batch := ix.NewBatch()
	for i, p := range s.passages {
		if err := batch.Index(fmt.Sprint(i), map[string]any{"text": p.Document + "\n" + p.Text}); err != nil {
			return nil, err
		}
	}
	return s, ix.Batch(batch)
}

// chunk cuts an article into sections, and sections into passages of about 180 words.
func (s *searcher) chunk(doc, text string) {
	title := strings.ReplaceAll(strings.TrimSuffix(doc, ".md"), "_", " ")
	section := ""
	for _, block := range strings.Split(text, "\n\n") {
		block = strings.TrimSpace(block)
		if h := strings.TrimLeft(block, "#"); h != block {
			section = strings.TrimSpace(h)
			continue
		}
		for start := 0; start < len(block); {
			end := start
			for end < len(block) && len(strings.Fields(block[start:end])) < 180 {
				end = prose.SentenceEnd(block, end, len(block))
			}
			if len(strings.Fields(block[end:])) < 60 {
				end = len(block)
			}
			s.passages = append(s.passages, matching.Passage{Document: title, Section: section, Path: []string{title}, Text: strings.TrimSpace(block[start:end])})
			s.docs = append(s.docs, doc)
			start = end
		}
	}
}

func (s *searcher) search(a *Sample) error {
	q := bleve.NewMatchQuery(a.Question)
	q.SetField("text")
	r, err := s.index.Search(bleve.NewSearchRequestOptions(q, matching.MaxPassages, 0, false))
	if err != nil {
		return err
	}
	for _, hit := range r.Hits {
		var i int
		fmt.Sscan(hit.ID, &i)
		p := s.passages[i]
		p.Score = hit.Score
		a.Passages = append(a.Passages, p)
		a.Docs = append(a.Docs, s.docs[i])
	}
	return nil
}
