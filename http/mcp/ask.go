package mcp

import (
	"fmt"

	"annals/queries/search"
)

var askTool = tool{
	name: "ask", title: "Ask a question",
	about: `Answers one focused question in a sentence or two, from the passages that service_search would find and from nothing else, with its reasoning and a confidence from 0 to 1. ` +
		`Under 0.3 it abstains: the passages contain no answer. Scope it by folder_name (including subfolders) or by document_id; with both, the document must be in that folder; with neither, all that you may read is searched. ` +
		`Its sources are the passages on which the answer is based, for citing by url and page; service_search finds more.`,
}

type askIn struct {
	Query      string `json:"query" jsonschema:"the question, as a whole sentence"`
	FolderName string `json:"folder_name,omitempty" jsonschema:"path of a folder, to answer only from that folder and its subfolders"`
	DocumentID string `json:"document_id,omitempty" jsonschema:"id of a document, to answer only from it"`
}

type askOut struct {
	Answer     string   `json:"answer" jsonschema:"the answer, or that there is none"`
	Reasoning  string   `json:"reasoning" jsonschema:"the sections on which the answer is based"`
	Confidence float64  `json:"confidence" jsonschema:"from 0 to 1; under 0.3 there is no answer"`
	Sources    []source `json:"sources" jsonschema:"the passages on which the answer is based; empty if there is no answer"`

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
	a, err := h.Queries.Ask(c, c.user, q)
	if err != nil {
		return out, err
	}
	h.recordReads(c, askTool.name, a.Documents...)
	out = askOut{Answer: a.Text, Reasoning: a.Reasoning, Confidence: a.Confidence, Sources: []source{}}
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
