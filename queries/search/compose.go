package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/queries/access"
	"annals/queries/answer"
	"annals/queries/answerlog"
	"annals/queries/compose"
	"annals/queries/freshness"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Composed says what a language model did for an answer. It is the zero value if there is no
// Composer.
type Composed struct {
	Record    uuid.UUID // id of the record; uuid.Nil if the model was not asked
	Model     string
	Outcome   compose.Outcome // compose.Composed if the model wrote the answer; otherwise why it did not
	Sentences []Composition   // of the answer, if the model wrote it
	Dropped   int             // number of sentences that the passages do not support
	Cut       bool            // the model's reply ended early
}

// Composition is a sentence of a composed answer.
type Composition struct {
	Text    string
	Sources []int // indexes of the sources that say it
}

// AnswerRecord returns the record of an answer that the user asked for; administrators see those of all
// users. Its texts are left out unless the user may still read all documents in it. The error is
// of kind fault.NotFound if there is no record, or not for the user.
func (q *Searcher) AnswerRecord(ctx context.Context, user events.User, id uuid.UUID) (answerlog.Record, error) {
	none := fault.Errorf(fault.NotFound, "there is no record of answer %s", id)
	if q.Answers == nil {
		return answerlog.Record{}, none
	}
	r, err := q.Answers.Find(ctx, id)
	if err != nil {
		return answerlog.Record{}, err
	}
	if r.Actor != user.Principal && !user.Admin {
		return answerlog.Record{}, none
	}
	ids := make([]string, len(r.Documents))
	for i, d := range r.Documents {
		ids[i] = d.String()
	}
	v, err := access.New(ctx, q.Models, user)
	if err != nil {
		return answerlog.Record{}, err
	}
	readable, err := vault.ByID(ctx, v, ids)
	if err != nil {
		return answerlog.Record{}, freshness.Wrap(err, "documents")
	}
	if len(readable) < len(ids) {
		r.Text = nil
	}
	return r, nil
}

// recordTime is how long an answer waits until it is recorded.
const recordTime = 5 * time.Second

// recordsPage is the number of records in a page of AnswerRecords.
const recordsPage = 50

// AnswerRecords returns a page of the records of the answers that the user asked for, of administrators those of all users, the
// newest first and without texts of documents. before is uuid.Nil, or the next of the page before. next is uuid.Nil
// after the last page.
func (q *Searcher) AnswerRecords(ctx context.Context, user events.User, before uuid.UUID) (records []answerlog.Record, next uuid.UUID, err error) {
	if q.Answers == nil {
		return nil, uuid.Nil, nil
	}
	of := user.Principal
	if user.Admin {
		of = ""
	}
	records, err = q.Answers.List(ctx, of, before, recordsPage+1)
	if len(records) > recordsPage {
		records = records[:recordsPage]
		next = records[recordsPage-1].ID
	}
	return records, next, err
}

// compose returns the answer that the language model writes, without sources if there is
// none.
func (q *Searcher) compose(ctx context.Context, from *Searcher, user events.User, s Question, asked string, sources []Source) (Answer, error) {
	passages := passagesOf(sources)
	request := compose.Request{
		User: user.Principal, Question: asked, History: s.History, Resolved: s.Search.Query, Passages: passages,
		Readable: func(ctx context.Context, cited []int) error {
			some := make([]Source, len(cited))
			for i, at := range cited {
				some[i] = sources[at]
			}
			_, ok, err := q.current(ctx, user, s.Search, some)
			if err == nil && !ok {
				err = compose.ErrUnreadable
			}
			return err
		},
	}
	if s.Sentence != nil {
		request.Each = func(one compose.Sentence) error { return s.Sentence(one.Text) }
	}
	resume := func() {}
	if s.Waiting != nil {
		resume = s.Waiting()
	}
	c, err := from.Composer.Compose(ctx, request)
	resume()
	a := Answer{Composed: Composed{Model: c.Model, Outcome: c.Outcome, Dropped: c.Dropped, Cut: c.Cut}}
	if err == nil && c.Outcome == compose.Composed {
		err = q.finish(ctx, user, s, sources, passages, c, &a)
	}
	if err != nil { // the passages were sent to the model, and some sentences perhaps to the user
		a = Answer{Composed: Composed{Model: c.Model, Outcome: compose.Canceled}}
	}
	sent := a.Text
	if s.Sentence != nil {
		sent = c.Text() // whatever became of the answer after that
	}
	var unrecorded error
	if c.Prompt != nil && from.Answers != nil {
		recording, end := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
		a.Composed.Record, unrecorded = from.Answers.Add(recording, record(user, s, asked, sources, c, string(a.Composed.Outcome), sent))
		end()
	}
	switch {
	case err != nil:
		return Answer{}, errors.Join(err, unrecorded)
	case unrecorded != nil:
		from.Composer.Logger.ErrorContext(ctx, "cannot record an answer of the language model: the passages are quoted instead", "error", unrecorded)
		return Answer{Composed: Composed{Model: c.Model, Outcome: compose.Unrecorded}}, nil
	}
	return a, nil
}

// finish makes a the composed answer, if all its sources can still be read.
func (q *Searcher) finish(ctx context.Context, user events.User, s Question, sources []Source, passages []answer.Passage, c compose.Composition, a *Answer) error {
	var cited []int // indexes in sources, in the order of the answer
	for _, one := range c.Sentences {
		at := make([]int, len(one.Passages))
		for i, p := range one.Passages {
			if at[i] = slices.Index(cited, p); at[i] < 0 {
				at[i] = len(cited)
				cited = append(cited, p)
			}
		}
		a.Composed.Sentences = append(a.Composed.Sentences, Composition{one.Text, at})
	}
	used := make([]Source, len(cited))
	for i, at := range cited {
		used[i] = sources[at]
	}
	now, ok, err := q.current(ctx, user, s.Search, used)
	if err != nil {
		return err
	}
	if !ok {
		a.Composed.Outcome, a.Composed.Sentences = compose.Withdrawn, nil
		return nil
	}
	a.Text, a.Confidence, a.Sources = c.Text(), c.Confidence, now
	var b strings.Builder
	fmt.Fprintf(&b, "The language model %s wrote it from ", c.Model)
	for i, at := range cited {
		if i > 0 {
			b.WriteString(", and ")
		}
		b.WriteString(passages[at].Where())
	}
	b.WriteString("; the words of each sentence were found there.")
	switch {
	case c.Dropped == 1:
		b.WriteString(" One further sentence was left out, because the passages do not support it.")
	case c.Dropped > 1:
		fmt.Fprintf(&b, " %d further sentences were left out, because the passages do not support them.", c.Dropped)
	}
	if c.Cut {
		b.WriteString(" The model's reply ended early.")
	}
	a.Reasoning = b.String()
	return nil
}

// record returns the record of an answer, of which some text was sent.
func record(user events.User, s Question, asked string, sources []Source, c compose.Composition, outcome, sent string) answerlog.Record {
	r := answerlog.Record{
		Actor: user.Principal, Correlation: s.Correlation, Model: c.Model, Outcome: outcome, Usage: c.Usage, Question: asked,
		Text: &answerlog.Text{Prompt: c.Prompt, Reply: c.Reply, Answer: sent, Dropped: c.Dropped},
	}
	for _, src := range sources[:c.Prompted] {
		r.Text.Passages = append(r.Text.Passages, answerlog.Passage{ID: src.id, Document: src.Document, Title: src.Title, Section: src.LeafTitle, Page: src.StartPage})
		if !slices.Contains(r.Documents, src.Document) {
			r.Documents = append(r.Documents, src.Document)
		}
	}
	return r
}
