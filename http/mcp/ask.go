package mcp

import (
	"fmt"

	httpd "annals/http"
	"annals/http/answers"
	"annals/queries/followup"
	"annals/queries/search"
)

var askTool = tool{
	name: "ask", title: "Ask a question",
	about: `Answers one focused question in a sentence or two, from the passages that service_search would find and from nothing else, in their words or, if the service has one, in those of a language model whose sentences were compared with them, with its reasoning and a confidence from 0 to 1. ` +
		`Under 0.3 it abstains: the passages contain no answer. Scope it by folder_name (including subfolders) or by document_id; with both, the document must be in that folder; with neither, all that you may read is searched. ` +
		`Its sources are the passages on which the answer is based, for citing by url and page; service_search finds more.`,
}

type askIn struct {
	Query      string `json:"query" jsonschema:"the question, as a whole sentence"`
	FolderName string `json:"folder_name,omitempty" jsonschema:"path of a folder, to answer only from that folder and its subfolders"`
	DocumentID string `json:"document_id,omitempty" jsonschema:"id of a document, to answer only from it"`
	History    []turn `json:"history,omitempty" jsonschema:"up to 10 earlier questions of the conversation and their answers, oldest first, so that a question such as 'And in Germany?' is understood"`
}

type turn struct {
	Question string `json:"question" jsonschema:"an earlier question"`
	Answer   string `json:"answer" jsonschema:"the answer that was given"`
}

// turns returns the last turns of a conversation, each cut to a size that a prompt can have.
func turns(given []turn) (turns []followup.Turn) {
	for _, t := range given[max(0, len(given)-answers.MaxTurns):] {
		turns = append(turns, followup.Turn{Question: clip(t.Question), Answer: clip(t.Answer)})
	}
	return turns
}

// clip returns the first answers.MaxEarlier characters of a text.
func clip(text string) string {
	n := 0
	for i := range text {
		if n++; n > answers.MaxEarlier {
			return text[:i]
		}
	}
	return text
}

type askOut struct {
	Answer     string   `json:"answer" jsonschema:"the answer, or that there is none"`
	Reasoning  string   `json:"reasoning" jsonschema:"the sections on which the answer is based"`
	Confidence float64  `json:"confidence" jsonschema:"from 0 to 1; under 0.3 there is no answer"`
	Sources    []source `json:"sources" jsonschema:"the passages on which the answer is based; empty if there is no answer"`
	AnsweredBy string   `json:"answered_by,omitempty" jsonschema:"model: a language model wrote the answer from the sources, and each sentence was compared with them; passages: the answer is a quotation; absent if there is no model"`
	Model      string   `json:"model,omitempty" jsonschema:"name of that model"`
	Fallback   string   `json:"fallback,omitempty" jsonschema:"why the model did not write the answer"`
	Dropped    int      `json:"dropped_sentences,omitempty" jsonschema:"number of sentences of the model that were left out, because the sources do not support them"`
	AnswerID   string   `json:"answer_id,omitempty" jsonschema:"id of the record of the answer"`

	advice string
}

func (h *Handler) ask(c call, in askIn) (out askOut, err error) {
	q := search.Query{Query: in.Query, Folder: in.FolderName}
	if in.DocumentID != "" {
		d, err := h.describe(c, askTool.name, in.DocumentID)
		if err != nil {
			return out, err
		}
		q.Document = d.ID
	}
	if q.Folder, err = h.scope(c, in.FolderName); err != nil {
		return out, err
	}
	a, err := h.Queries.Ask(c, c.user, search.Question{Search: q, History: turns(in.History), Waiting: c.idle, Correlation: httpd.Correlation(c)})
	h.recordReads(c, askTool.name, a.Documents...)
	if err != nil {
		return out, err
	}
	by := answers.Of(a, func(string) string { return "" })
	out = askOut{Answer: a.Text, Reasoning: a.Reasoning, Confidence: a.Confidence, Sources: []source{}, AnsweredBy: by.AnsweredBy, Model: by.Model, Fallback: by.Fallback, Dropped: by.Dropped, AnswerID: by.AnswerID}
	for _, p := range a.Sources {
		out.Sources = append(out.Sources, h.sourceOf(p))
	}
	const abstains = 0.3
	if a.Confidence < abstains {
		out.advice = h.named("service_search shows the passages; a wider scope or words from the documents may find more.")
	}
	return out, nil
}

func (o askOut) markdown() string {
	text := fmt.Sprintf("%s\n\nConfidence %.2f. %s", o.Answer, o.Confidence, o.Reasoning)
	for i, s := range o.Sources {
		text += fmt.Sprintf("\n\n%d. %s\n   %s", i+1, s.name(), s.where())
	}
	if o.advice != "" {
		text += "\n\n" + o.advice
	}
	return text
}
