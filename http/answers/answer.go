package answers

import (
	"time"

	"annals/endpoint/llm"
	"annals/http/form"
	"annals/queries/answerlog"
	"annals/queries/compose"
	"annals/queries/followup"
	"annals/queries/search"

	"github.com/google/uuid"
)

// Limits of the history of a question.
const (
	MaxTurns   = 10
	MaxEarlier = 4000 // characters of an earlier question, and of its answer
)

// History reads the earlier questions of a conversation and their answers, oldest first.
func History(o form.Object) (turns []followup.Turn) {
	for _, t := range o.Objects("history", MaxTurns) {
		turns = append(turns, followup.Turn{Question: t.Text("question", MaxEarlier), Answer: t.Text("answer", MaxEarlier)})
		t.RefuseUnknown()
	}
	return turns
}

// Answer is the body of a reply to a question.
type Answer struct {
	Answer     string   `json:"answer"`
	Reasoning  string   `json:"reasoning"`
	Confidence float64  `json:"confidence"`
	Sources    []Source `json:"sources"`

	// The others are present only if a language model is configured.
	AnsweredBy string     `json:"answered_by,omitempty"` // model or passages
	Model      string     `json:"model,omitempty"`
	Fallback   string     `json:"fallback,omitempty"` // why the model did not answer
	Sentences  []Sentence `json:"sentences,omitempty"`
	Dropped    int        `json:"dropped_sentences,omitempty"`
	Truncated  bool       `json:"truncated,omitempty"`
	AnswerID   string     `json:"answer_id,omitempty"` // of the record
}

// Sentence is a sentence of an answer of the model.
type Sentence struct {
	Text    string `json:"text"`
	Sources []int  `json:"sources"` // indexes
}

// The values of Answer.AnsweredBy.
const (
	ByModel    = "model"
	ByPassages = "passages"
)

// Of returns the body for an answer.
func Of(a search.Answer, link func(string) string) Answer {
	out := Answer{Answer: a.Text, Reasoning: a.Reasoning, Confidence: a.Confidence, Sources: Sources(a.Sources, link)}
	c := a.Composed
	if c.Outcome == "" {
		return out
	}
	out.AnsweredBy, out.Dropped = ByPassages, c.Dropped
	if c.Outcome == compose.Composed {
		out.AnsweredBy, out.Model, out.Truncated = ByModel, c.Model, c.Cut
		for _, s := range c.Sentences {
			out.Sentences = append(out.Sentences, Sentence(s))
		}
	} else {
		out.Fallback = string(c.Outcome)
	}
	if c.Record != uuid.Nil {
		out.AnswerID = c.Record.String()
	}
	return out
}

// Asked is an answer in a list of records.
type Asked struct {
	AnswerID     uuid.UUID `json:"answer_id"`
	Time         time.Time `json:"time"`
	User         string    `json:"user"`
	Correlation  string    `json:"correlation_id"`
	Question     string    `json:"question"`
	Model        string    `json:"model"`
	Outcome      string    `json:"outcome"`
	InputTokens  int       `json:"input_tokens"`
	OutputTokens int       `json:"output_tokens"`
	Cost         float64   `json:"cost"`
}

func askedOf(r answerlog.Record) Asked {
	return Asked{r.ID, r.Time, string(r.Actor), r.Correlation, r.Question, r.Model, r.Outcome, r.Usage.Input, r.Usage.Output, r.Usage.Cost}
}

// Records is the body of a page of records.
type Records struct {
	Answers []Asked    `json:"answers"`
	Next    *uuid.UUID `json:"next_cursor"`
}

// RecordsOf returns the body for a page of records, after which next is the cursor, or uuid.Nil.
func RecordsOf(records []answerlog.Record, next uuid.UUID) Records {
	out := Records{Answers: []Asked{}}
	for _, r := range records {
		out.Answers = append(out.Answers, askedOf(r))
	}
	if next != uuid.Nil {
		out.Next = &next
	}
	return out
}

// Record is the body of the record of an answer.
type Record struct {
	Asked
	Withheld bool                `json:"withheld"`
	Prompt   []llm.Message       `json:"prompt"`
	Passages []answerlog.Passage `json:"passages"`
	Reply    *string             `json:"reply"`
	Answer   *string             `json:"answer"`
	Dropped  *int                `json:"dropped_sentences"`
}

// RecordOf returns the body for a record.
func RecordOf(r answerlog.Record) Record {
	out := Record{Asked: askedOf(r), Withheld: r.Text == nil}
	if t := r.Text; t != nil {
		out.Prompt, out.Passages, out.Reply, out.Answer, out.Dropped = t.Prompt, t.Passages, &t.Reply, &t.Answer, &t.Dropped
	}
	return out
}
