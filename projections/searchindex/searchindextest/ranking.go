package searchindextest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"annals/projections/searchindex"
)

// floors are the results of a simple reference implementation, by suite and measure; for
// long queries, somewhat less than was first measured. Engines must be better.
var floors = map[string]float64{
	"cranfield nDCG@10": .380, "med nDCG@10": .712, "scifact-train nDCG@10": .701,
	"squad answer in top 1": .882, "squad answer in top 5": .964, "tldr-en MRR@10": .979, "gutenberg quote in top 1": .975,
	"cranfield, long nDCG@10": .290, "med, long nDCG@10": .500,
}

// Ranking measures how well queries find the passages that they were made for. It cuts
// the documents of the development collections into passages by cut, and indexes all of
// them in one engine. It searches as the server does, within the folder of one
// collection. It skips the test if the collections are missing, and fails if a measure is
// not above its floor.
func Ranking(t *testing.T, e searchindex.Engine, cut func(section string) []string) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	r := &ranking{engine: e, cut: cut, passages: make(map[string]searchindex.Passage)}
	suites := loadSuites(t)
	for _, s := range suites {
		r.index(t, s)
	}
	for _, s := range suites {
		plain, reranked := r.measure(t, s)
		for _, name := range slices.Sorted(maps.Keys(reranked)) {
			got := reranked[name]
			before := plain[name]
			name = s.name + " " + name
			t.Logf("%-26s engine %.4f  reranked %.4f  floor %.3f  (%d queries)", name, before, got, floors[name], len(s.queries))
			if got <= floors[name] {
				t.Errorf("%s is %.4f, want more than %.3f", name, got, floors[name])
			}
		}
	}
}

type ranking struct {
	engine   searchindex.Engine
	cut      func(string) []string
	passages map[string]searchindex.Passage
}

func (r *ranking) index(t *testing.T, s suite) {
	var b searchindex.Batch
	for _, d := range s.documents {
		for i, section := range d.sections {
			for j, text := range r.cut(section.text) {
				p := searchindex.Passage{
					ID: fmt.Sprintf("%s:%s/%d/%d", s.folder, d.name, i, j), Document: d.name, Folders: []string{s.folder},
					Title: d.title, Section: section.path, Text: text,
				}
				r.passages[p.ID] = p
				if b.Put = append(b.Put, p); len(b.Put) == 2000 {
					apply(t, r.engine, b)
					b.Put = nil
				}
			}
		}
	}
	apply(t, r.engine, b)
}

// ask returns the passages for a query: plain are the hits of a single search, reranked
// those that the server returns, after a second search and reranking.
func (r *ranking) ask(t *testing.T, s suite, text string) (plain, reranked []searchindex.Passage) {
	q := searchindex.Query{Text: text, All: true, Folders: []string{s.folder}, Limit: searchindex.Candidates}
	hits := search(t, r.engine, q)
	q.More = searchindex.Expand(text, r.candidates(hits))
	return r.show(hits), r.show(searchindex.Rerank(text, r.candidates(search(t, r.engine, q))))
}

func (r *ranking) candidates(hits []searchindex.Hit) []searchindex.Candidate {
	candidates := make([]searchindex.Candidate, len(hits))
	for i, h := range hits {
		p := r.passages[h.ID]
		candidates[i] = searchindex.Candidate{Hit: h, Title: p.Title, Section: p.Section, Text: p.Text}
	}
	return candidates
}

func (r *ranking) show(hits []searchindex.Hit) []searchindex.Passage {
	var shown []searchindex.Passage
	for _, h := range searchindex.Spread(hits, 10, func(h searchindex.Hit) string { return r.passages[h.ID].Document }) {
		shown = append(shown, r.passages[h.ID])
	}
	return shown
}

// measure returns the measures of a suite, averaged over its queries, for both results of
// ask.
func (r *ranking) measure(t *testing.T, s suite) (plain, reranked map[string]float64) {
	plain, reranked = make(map[string]float64), make(map[string]float64)
	for _, q := range s.queries {
		without, with := r.ask(t, s, q.text)
		itself := func(p searchindex.Passage) bool { return p.Document == q.from }
		without, with = slices.DeleteFunc(without, itself), slices.DeleteFunc(with, itself)
		judge(s.name, q, without, plain, 1/float64(len(s.queries)))
		judge(s.name, q, with, reranked, 1/float64(len(s.queries)))
	}
	return plain, reranked
}

// judge adds the measures of the passages shown for one query to sums, multiplied by
// share.
func judge(suite string, q query, shown []searchindex.Passage, sums map[string]float64, share float64) {
	switch suite {
	case "squad":
		at := slices.IndexFunc(shown, func(p searchindex.Passage) bool { return p.Document == q.document && containsAny(p.Text, q.answers) })
		sums["answer in top 1"] += share * indicate(at == 0)
		sums["answer in top 5"] += share * indicate(at >= 0 && at < 5)
	case "gutenberg":
		sums["quote in top 1"] += share * indicate(len(shown) > 0 && strings.Contains(squash(shown[0].Text), squash(q.text)))
	case "tldr-en":
		at := slices.Index(distinct(shown), q.document)
		sums["MRR@10"] += share * indicate(at >= 0) / float64(max(at, 0)+1)
	default:
		sums["nDCG@10"] += share * ndcg(distinct(shown), q.gains)
	}
}

func indicate(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// distinct returns the documents of passages in order, without duplicates.
func distinct(passages []searchindex.Passage) []string {
	var documents []string
	for _, p := range passages {
		if !slices.Contains(documents, p.Document) {
			documents = append(documents, p.Document)
		}
	}
	return documents
}

// ndcg returns the normalised discounted cumulative gain of the first 10 documents.
func ndcg(documents []string, gains map[string]float64) float64 {
	var got, ideal float64
	for i, d := range documents[:min(10, len(documents))] {
		got += gains[d] / math.Log2(float64(i+2))
	}
	var best []float64
	for _, g := range gains {
		best = append(best, g)
	}
	slices.Sort(best)
	slices.Reverse(best)
	for i, g := range best[:min(10, len(best))] {
		ideal += g / math.Log2(float64(i+2))
	}
	return got / ideal
}

var articles = regexp.MustCompile(`\b(a|an|the)\b`)

// normal returns a text without case, punctuation and articles.
func normal(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	return " " + strings.Join(strings.Fields(articles.ReplaceAllString(text, " ")), " ") + " "
}

func containsAny(text string, answers []string) bool {
	text = normal(text)
	return slices.ContainsFunc(answers, func(a string) bool {
		a = normal(a)
		return strings.TrimSpace(a) != "" && strings.Contains(text, a)
	})
}

// squash returns the letters and digits of a text.
func squash(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// document is a document of a suite. A suite has documents, each with sections, and
// queries.
type document struct {
	name, title string
	sections    []section
}

type section struct{ path, text string }

type query struct {
	text     string
	gains    map[string]float64 // by document
	document string
	answers  []string
	from     string // the document that the query is the text of, which is not a result; "" if none
}

type suite struct {
	name      string
	folder    string // in which the documents are
	documents []document
	queries   []query
}

// markdown cuts a text into sections at its headings. The first heading is the document's
// title.
func markdown(name, text string) document {
	d := document{name: name}
	path := make([]string, 7)
	var body strings.Builder
	flush := func() {
		var titles []string
		for _, t := range path {
			if t != "" {
				titles = append(titles, t)
			}
		}
		if strings.TrimSpace(body.String()) != "" {
			d.sections = append(d.sections, section{strings.Join(titles, " > "), body.String()})
		}
		body.Reset()
	}
	fenced := false
	for line := range strings.Lines(text) {
		fenced = fenced != strings.HasPrefix(line, "```")
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if fenced || marks == 0 || marks > 6 || !strings.HasPrefix(line[marks:], " ") {
			body.WriteString(line)
			continue
		}
		flush()
		path[marks] = strings.TrimSpace(line[marks:])
		clear(path[marks+1:])
		if d.title == "" {
			d.title = path[marks]
		}
	}
	flush()
	if d.title == "" {
		d.title = name
	}
	return d
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
