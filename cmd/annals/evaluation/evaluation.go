// Package evaluation implements the command eval: it measures the searches and answers of a
// running server with questions whose answers are known. It calls the server only through
// the client package.
package evaluation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"annals/cmd/annals/client"
	"annals/cmd/annals/terminal"

	"golang.org/x/sync/errgroup"
)

// Options says what is measured, and how to reach the server.
type Options struct {
	Core  *client.Core
	Vault *client.Vault

	Dir        string  // folder with the questions
	Folder     string  // path of the folder on the server to search in; "" means all
	Generation int     // of the passages; 0 means the active one
	Threshold  float64 // confidence below which an answer counts as none
	Workers    int     // concurrent requests

	Save    string // file to write the results to; "" means none
	Compare string // file with the results to compare with; "" means none

	JSON    bool // print the report as JSON
	Program string
	Out     io.Writer
	Err     io.Writer // for the progress
}

// Threshold is the confidence below which the server itself says that there is no answer.
const Threshold = 0.3

const maxWorkers = 16

// Check returns an error unless the options are valid.
func (o *Options) Check() error {
	switch {
	case o.Workers < 1 || o.Workers > maxWorkers:
		return fmt.Errorf("--workers is %d: it must be from 1 to %d", o.Workers, maxWorkers)
	case !(o.Threshold >= 0 && o.Threshold <= 1):
		return fmt.Errorf("--threshold is %v: it must be from 0 to 1", o.Threshold)
	case o.Generation < 0:
		return fmt.Errorf("--generation is %d: the numbers of generations begin at 1, see annals projections", o.Generation)
	}
	return nil
}

// Item is the result for one query or question.
type Item struct {
	Kind     string             `json:"kind"` // query or question
	ID       string             `json:"id"`
	Text     string             `json:"text"`
	Truth    string             `json:"truth"`    // checksum of the judgements or the right answers
	Measures map[string]float64 `json:"measures"` // by section and name
	Found    []string           `json:"found"`    // ids of documents, best first
	Seconds  float64            `json:"seconds"`  // duration of the search
	Answer   *Answer            `json:"answer,omitempty"`
	Error    string             `json:"error,omitempty"` // why the server refused it
}

// Answer is the answer to a question.
type Answer struct {
	Text       string  `json:"text"`
	Confidence float64 `json:"confidence"`
	Abstain    bool    `json:"should_abstain"`
	Judged     bool    `json:"judged"` // whether it is known which answers are right
	Seconds    float64 `json:"seconds"`
}

// key identifies an item among all.
func (i *Item) key() string { return i.Kind + " " + i.ID }

// abstains reports whether the server does not answer the question, at a threshold.
func (a *Answer) abstains(threshold float64) bool {
	return a.Confidence < threshold || strings.TrimSpace(a.Text) == ""
}

// run is one run of the command.
type run struct {
	Options
	path  string            // of the folder to search in
	named map[string]string // ids of documents by the names that the questions use
}

// Run measures the server.
func Run(ctx context.Context, o Options) (err error) {
	questions, err := read(o.Dir)
	if err != nil {
		return err
	}
	if o.Save != "" { // before the measurement, since that may take long
		if _, err := os.Stat(filepath.Dir(o.Save)); err != nil {
			return fmt.Errorf("--save: %w", err)
		}
	}
	var before *Report
	if o.Compare != "" {
		if before, err = load(o.Compare); err != nil {
			return err
		}
	}
	r := &run{Options: o}
	folder := client.Folder{}
	if o.Folder != "" {
		if folder, err = o.Vault.FindFolder(ctx, o.Folder); err != nil {
			return err
		}
		if r.path = folder.Name; r.path == folder.ID {
			return fmt.Errorf("--folder %s is an id: pass the path of the folder", o.Folder)
		}
	}
	if r.named, err = resolve(ctx, o.Vault, folder, questions.named, o.Err); err != nil {
		return err
	}
	begun := time.Now()
	items, err := r.measure(ctx, questions)
	if err != nil {
		return err
	}
	report := &Report{
		Format: format, Program: o.Program, Time: begun.UTC().Truncate(time.Second), Server: o.Core.URL, Questions: filepath.Base(o.Dir), Folder: r.path,
		Generation: o.Generation, Threshold: o.Threshold, Items: items,
	}
	report.summarize()
	if o.Save != "" {
		if err := report.save(o.Save); err != nil {
			return err
		}
	}
	if before != nil {
		report.Comparison, err = compare(before, report)
		if err != nil {
			return fmt.Errorf("compare with %s: %w", o.Compare, err)
		}
	}
	if o.JSON {
		report.Items = nil
		return json.NewEncoder(o.Out).Encode(report)
	}
	return report.print(o.Out)
}

// measure sends all queries and questions, and returns their results in the order of the
// files.
func (r *run) measure(ctx context.Context, c *collection) ([]Item, error) {
	total := len(c.queries) + len(c.questions)
	progress := terminal.NewProgress(r.Err, "questions", terminal.Is(r.Err))
	progress.Begin("evaluating", 0, int64(total))
	defer progress.End()
	var done atomic.Int64
	items := make([]Item, total)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(r.Workers)
	for i := range items {
		if ctx.Err() != nil {
			break
		}
		all.Go(func() (err error) {
			if i < len(c.queries) {
				items[i], err = r.query(ctx, c.queries[i])
			} else {
				items[i], err = r.question(ctx, c.questions[i-len(c.queries)])
			}
			progress.Set(done.Add(1), int64(total))
			return err
		})
	}
	return items, all.Wait()
}

// query measures the ranking of documents for a query. A document has the rank of its first
// passage.
func (r *run) query(ctx context.Context, q query) (Item, error) {
	item := Item{Kind: "query", ID: q.id, Text: q.text, Truth: checksum(q.relevant)}
	found, err := r.search(ctx, &item)
	if err != nil {
		return item, err
	}
	names := make(map[string]string, len(q.relevant)) // of documents by their ids
	for name := range q.relevant {
		names[r.named[name]] = name
	}
	var ranked []string
	for _, id := range documentsOf(found) {
		if name, ok := names[id]; ok {
			id = name
		}
		ranked = append(ranked, id)
	}
	item.Measures = inSection("retrieval", rankingMeasures(ranked, q.relevant))
	return item, nil
}

// question measures the passages that a search finds for a question, and the answer.
func (r *run) question(ctx context.Context, q question) (Item, error) {
	truth := struct {
		Answers  []string
		Document string
		Pages    []int
		Abstain  bool
	}{q.answers, q.document, q.pages, q.abstain}
	item := Item{Kind: "question", ID: q.id, Text: q.text, Truth: checksum(truth)}
	found, err := r.search(ctx, &item)
	if err != nil {
		return item, err
	}
	item.Measures = inSection("passages", r.passageMeasures(q, found))
	if item.Error == "" {
		a, took, err := r.Core.Ask(ctx, client.Query{Text: q.text, Folder: r.path, Generation: r.Generation})
		if err := refusal(err, &item); err != nil {
			return item, err
		}
		if item.Error == "" {
			item.Answer = &Answer{Text: a.Text, Confidence: a.Confidence, Abstain: q.abstain, Judged: q.abstain || len(q.answers) > 0, Seconds: took.Seconds()}
			addAll(item.Measures, inSection("answers", r.answerMeasures(q, a)))
			return item, nil
		}
	}
	addAll(item.Measures, inSection("answers", r.answerMeasures(q, client.Answer{})))
	return item, nil
}

// search returns the passages for an item. If the server refuses the query, found is empty
// and item.Error is set.
func (r *run) search(ctx context.Context, item *Item) (found []client.Passage, err error) {
	found, took, err := r.Core.Search(ctx, client.Query{Text: item.Text, Folder: r.path, Limit: depth, Generation: r.Generation})
	if err := refusal(err, item); err != nil {
		return nil, err
	}
	item.Seconds, item.Found = took.Seconds(), documentsOf(found)
	return found, nil
}

// refusal sets item.Error if err says that the query itself is wrong, for example too long.
// It returns all other errors, because the following questions would have them too.
func refusal(err error, item *Item) error {
	if client.IsRefusal(err, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity) {
		item.Error = err.Error()
		return nil
	}
	return err
}

// documentsOf returns the ids of the documents of passages, each once.
func documentsOf(found []client.Passage) []string {
	ids := []string{}
	for _, p := range found {
		if !slices.Contains(ids, p.Document) {
			ids = append(ids, p.Document)
		}
	}
	return ids
}

// passageMeasures measures the passages for a question.
func (r *run) passageMeasures(q question, found []client.Passage) map[string]float64 {
	measures := make(map[string]float64)
	if q.document != "" {
		right := func(p client.Passage) bool { return r.named[q.document] == p.Document }
		measures["document@1"] = score(slices.ContainsFunc(found[:min(1, len(found))], right))
		measures["document@5"] = score(slices.ContainsFunc(found[:min(5, len(found))], right))
	}
	if len(q.pages) > 0 {
		measures["page@1"] = score(len(found) > 0 && r.onPage(q, found[0]))
	}
	if len(q.answers) > 0 {
		right := func(p client.Passage) bool {
			return (q.document == "" || r.named[q.document] == p.Document) && q.answeredBy(p.Text)
		}
		measures["answer@1"] = score(slices.ContainsFunc(found[:min(1, len(found))], right))
		measures["answer@5"] = score(slices.ContainsFunc(found[:min(5, len(found))], right))
	}
	return measures
}

// answerMeasures measures the answer to a question.
func (r *run) answerMeasures(q question, a client.Answer) map[string]float64 {
	measures := make(map[string]float64)
	if len(q.answers) > 0 {
		measures["contains"] = score(q.answeredBy(a.Text))
		given, exact, f1 := normalized(a.Text), 0.0, 0.0
		for _, answer := range q.answers {
			wanted := normalized(answer)
			exact, f1 = max(exact, score(slices.Equal(given, wanted))), max(f1, tokenF1(given, wanted))
		}
		measures["exact"], measures["F1"] = exact, f1
	}
	if q.document != "" {
		measures["document"] = score(len(a.Sources) > 0 && r.named[q.document] == a.Sources[0].Document)
	}
	if len(q.pages) > 0 {
		measures["page"] = score(len(a.Sources) > 0 && r.onPage(q, a.Sources[0]))
	}
	return measures
}

// answeredBy reports whether a text contains one of the answers.
func (q question) answeredBy(text string) bool {
	words := normalized(text)
	return slices.ContainsFunc(q.answers, func(answer string) bool { return contains(words, normalized(answer)) })
}

// onPage reports whether a passage is on one of the pages that have the answer.
func (r *run) onPage(q question, p client.Passage) bool {
	return r.named[q.document] == p.Document && slices.ContainsFunc(q.pages, func(page int) bool { return p.StartPage > 0 && p.StartPage <= page && page <= p.EndPage })
}

func inSection(section string, measures map[string]float64) map[string]float64 {
	named := make(map[string]float64, len(measures))
	for name, value := range measures {
		named[section+" "+name] = value
	}
	return named
}

func addAll(to, from map[string]float64) {
	for name, value := range from {
		to[name] = value
	}
}

// checksum returns a short checksum of a value.
func checksum(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(errors.Join(errors.New("cannot happen: the value has plain fields"), err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
