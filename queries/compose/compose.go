// Package compose lets a language model write the answer to a question from passages, and
// checks what it writes. A sentence counts only if it names passages that say the same
// ([support.Checker]); everything else is dropped and counted. So neither a model that invents
// nor one that follows instructions in a document can say what no passage says.
//
// It imports endpoint/llm, events, events/fault, events/prose, queries/answer,
// queries/answer/markdown, queries/answer/support and queries/followup.
package compose

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"annals/endpoint/llm"
	"annals/events"
	"annals/events/fault"
	"annals/queries/answer"
	"annals/queries/answer/support"
	"annals/queries/followup"

	"golang.org/x/sync/semaphore"
)

// Composer composes answers. Its methods are safe for concurrent use.
type Composer struct {
	Model  *llm.Client
	Budget Budget // nil means that only the limits of the Model hold
	// Observe is called after each call of Compose. It may be nil.
	Observe func(Composition)
	Logger  *slog.Logger

	mu     sync.Mutex
	shares map[events.Principal]*share // of users with calls
}

// share is the part of the concurrent calls that one user may have.
type share struct {
	slots *semaphore.Weighted
	calls int // running and waiting ones
}

// begin waits until the user has less than half of the concurrent calls, or none. It returns an
// error if ctx ends before that.
func (c *Composer) begin(ctx context.Context, user events.Principal) (end func(), err error) {
	c.mu.Lock()
	s := c.shares[user]
	if s == nil {
		if c.shares == nil {
			c.shares = make(map[events.Principal]*share)
		}
		s = &share{slots: semaphore.NewWeighted(int64(max(1, c.Model.AtOnce/2)))}
		c.shares[user] = s
	}
	s.calls++
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if s.calls--; s.calls == 0 {
			delete(c.shares, user)
		}
	}
	if err := s.slots.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return func() { s.slots.Release(1); leave() }, nil
}

// Budget limits what users spend.
type Budget interface {
	// Reserve takes the most that a call may use from the budget of a user. settle must be
	// called with what it used. The error is of kind fault.Exhausted if too little is left.
	Reserve(ctx context.Context, user events.Principal, most llm.Usage) (settle func(llm.Usage), err error)
}

// Request is a question with the passages that may answer it.
type Request struct {
	User     events.Principal
	Question string
	History  []followup.Turn // oldest first
	Resolved string          // the question as it is understood without History
	Passages []answer.Passage
	// Readable returns an error unless the user may still read the passages with these
	// indexes. It is called before each sentence is accepted, since the model may take long.
	Readable func(ctx context.Context, passages []int) error
	// Each is called with each sentence that is accepted. It may be nil.
	Each func(Sentence) error
}

// Sentence is a sentence of an answer.
type Sentence struct {
	Text     string
	Passages []int // indexes of the passages that say it
}

// Outcome is the outcome of a call of Compose: Composed, a reason of package llm, or another reason why there
// is no answer of the model.
type Outcome string

// The outcomes that are no reasons of package llm.
const (
	Composed    Outcome = "composed"
	NoAnswer    Outcome = "no_answer"   // the model found no answer in the passages
	Unsupported Outcome = "unsupported" // the passages support no sentence of the reply
	Doubtful    Outcome = "doubtful"    // the sentences that the passages support hardly answer the question
	OverBudget  Outcome = "over_budget" // of the user or of all
	Withdrawn   Outcome = "withdrawn"   // the user may no longer read the passages, or they have changed
	Unrecorded  Outcome = "unrecorded"  // the answer, or what it costs, cannot be recorded
	Canceled    Outcome = "canceled"    // the request ended before the answer was complete
)

// Outcomes returns every outcome.
func Outcomes() []Outcome {
	all := []Outcome{Composed, NoAnswer, Unsupported, Doubtful, OverBudget, Withdrawn, Unrecorded, Canceled}
	for _, r := range llm.Reasons() {
		all = append(all, Outcome(r))
	}
	return all
}

// Composition is the result of Compose.
type Composition struct {
	Outcome Outcome
	// Sentences are those that were accepted, and passed to Request.Each. They are an answer only if Outcome is
	// Composed.
	Sentences []Sentence
	Dropped   int  // number of sentences that no passage supports
	Cut       bool // the reply ended early
	// Confidence is the probability that the sentences answer the question, less the share of dropped sentences, but at
	// least 0.3 if there is an answer (confidence.go).
	Confidence float64

	Model    string
	Prompt   []llm.Message // nil if the model was not asked
	Prompted int           // number of the passages in the prompt
	Reply    string
	Usage    llm.Usage
	Took     time.Duration
}

// ErrUnreadable is the error of Request.Readable for passages that may not be read.
var ErrUnreadable = fault.Errorf(fault.NotFound, "the passages can no longer be read")

// errEnough ends a call when the answer is long enough.
var errEnough = errors.New("the answer is long enough")

const (
	maxAnswer = 10 // sentences
	// leastConfidence is that of answers.
	leastConfidence = 0.3
	// doubtful is the probability below which sentences are no answer. It is less than leastConfidence, because models
	// find answers that a quotation does not agree with.
	doubtful = 0.2
)

// Compose asks the model. The error is that of ctx, Each or Readable, with the outcome Canceled if the model
// was asked or waited for; all other failures are outcomes.
func (c *Composer) Compose(ctx context.Context, q Request) (a Composition, err error) {
	began := time.Now()
	a.Model = c.Model.Model
	defer func() {
		a.Took = time.Since(began)
		if a.Outcome != "" && c.Observe != nil {
			c.Observe(a)
		}
	}()
	waiting, stop := context.WithTimeout(ctx, c.Model.Patience())
	end, err := c.begin(waiting, q.User)
	stop()
	if err != nil {
		if ctx.Err() != nil {
			a.Outcome = Canceled
			return a, ctx.Err()
		}
		a.Outcome = Outcome(llm.Busy)
		return a, nil
	}
	defer end()
	messages, used := prompt(q, c.Model.InputTokens)
	if used == 0 {
		a.Outcome = Outcome(llm.Refused)
		return a, nil
	}
	settle := func(llm.Usage) {}
	if c.Budget != nil {
		settle, err = c.Budget.Reserve(ctx, q.User, c.Model.Most(messages))
		if fault.Is(err, fault.Exhausted) {
			a.Outcome = OverBudget
			return a, nil
		}
		if err != nil && ctx.Err() == nil {
			c.Logger.ErrorContext(ctx, "cannot count what the language model uses: the passages are quoted instead", "error", err)
			a.Outcome = Unrecorded
			return a, nil
		}
		if err != nil {
			a.Outcome = Canceled
			return a, err
		}
	}
	a.Prompt, a.Prompted = messages, used
	w := writer{Request: q, composition: &a, reply: reply{passages: used}, support: support.New(q.Resolved, q.Passages[:used])}
	reply, err := c.Model.StreamSince(ctx, began, messages, func(piece string) error { return w.accept(ctx, w.reply.add(piece)) })
	settle(reply.Usage)
	a.Reply, a.Usage, a.Cut = reply.Text, reply.Usage, reply.Cut
	failed := (*llm.Error)(nil)
	if err == nil {
		err = w.accept(ctx, w.reply.end(reply.Cut))
	}
	switch {
	case errors.As(err, &failed):
		c.Logger.WarnContext(ctx, "the language model did not answer: the passages are quoted instead", "reason", failed.Reason, "error", failed.Err)
		a.Outcome = Outcome(failed.Reason)
		return a, nil
	case errors.Is(err, ErrUnreadable):
		a.Outcome = Withdrawn
		return a, nil
	case errors.Is(err, errEnough):
		a.Cut = true
	case err != nil:
		a.Outcome = Canceled
		return a, err
	}
	switch {
	case len(a.Sentences) > 0:
		a.Outcome, a.Confidence = Composed, w.confidence()
		if a.Confidence == 0 {
			a.Outcome = Doubtful
		}
	case w.reply.abstains:
		a.Outcome = NoAnswer
	case a.Dropped == 0 && reply.Failure() != "": // before the end of the first sentence
		a.Outcome = Outcome(reply.Failure())
	default:
		a.Outcome = Unsupported
	}
	return a, nil
}

// writer collects the accepted sentences.
type writer struct {
	Request
	composition *Composition
	reply       reply
	support     *support.Checker
}

// accept adds those sentences that are supported.
func (w *writer) accept(ctx context.Context, sentences []said) error {
	a := w.composition
	for _, s := range sentences {
		text, ok := Clean(s.text)
		if !ok || !w.support.Supports(text, s.cited) {
			a.Dropped++
			continue
		}
		if err := w.Readable(ctx, s.cited); err != nil {
			return err
		}
		one := Sentence{text, s.cited}
		if slices.ContainsFunc(a.Sentences, func(other Sentence) bool { return other.Text == text }) {
			continue // a model that repeats itself
		}
		a.Sentences = append(a.Sentences, one)
		if w.Each != nil {
			if err := w.Each(one); err != nil {
				return err
			}
		}
		if len(a.Sentences) == maxAnswer {
			return errEnough
		}
	}
	return nil
}

// confidence returns the confidence of the answer, less the share of the sentences that were dropped, but at least
// leastConfidence. It is 0 if the sentences are doubtful.
func (w *writer) confidence() float64 {
	sentences := w.composition.Sentences
	all := featuresOf(w.Resolved, w.Passages[:w.composition.Prompted], w.support, sentences).confidence()
	if all < doubtful || !slices.ContainsFunc(sentences, func(one Sentence) bool { return w.support.Responds(one.Text, one.Passages) }) {
		return 0
	}
	return max(leastConfidence, all*float64(len(sentences))/float64(len(sentences)+w.composition.Dropped))
}

// textOf returns the text of an answer.
func textOf(sentences []Sentence) string {
	texts := make([]string, len(sentences))
	for i, s := range sentences {
		texts[i] = s.Text
	}
	return strings.Join(texts, " ")
}

// Text returns the text of the sentences that were accepted.
func (c *Composition) Text() string { return textOf(c.Sentences) }
