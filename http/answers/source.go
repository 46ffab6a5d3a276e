// Package answers has the bodies of the replies to searches and questions, and streams
// answers. It imports endpoint/llm, http/form, http/problem, http/sse, queries/answerlog,
// queries/compose, queries/followup and queries/search.
package answers

import "annals/queries/search"

// Source is a passage.
type Source struct {
	DocID         string      `json:"doc_id"`
	DocumentTitle string      `json:"document_title"`
	LeafTitle     string      `json:"leaf_title"`
	SectionPath   []string    `json:"section_path,omitempty"`
	StartPage     *int        `json:"start_page"`
	EndPage       *int        `json:"end_page"`
	Text          string      `json:"text"`
	Score         float64     `json:"score"`
	DeepLink      string      `json:"deep_link"`
	URL           string      `json:"url,omitempty"`
	Folder        string      `json:"folder,omitempty"`
	Owner         string      `json:"owner,omitempty"`
	Metadata      Reading     `json:"metadata"`
	Duplicates    []Duplicate `json:"duplicates,omitempty"`
}

// Duplicate is another passage with the same text.
type Duplicate struct {
	DocID         string `json:"doc_id"`
	DocumentTitle string `json:"document_title"`
	StartPage     *int   `json:"start_page"`
	DeepLink      string `json:"deep_link"`
	URL           string `json:"url,omitempty"`
	Folder        string `json:"folder,omitempty"`
}

// Reading is the metadata of a text that was read: whether some of it was recognised in
// pictures of pages, and how surely.
type Reading struct {
	OCR        bool     `json:"ocr"`
	Confidence *float64 `json:"confidence"`
}

// ReadingOf returns the metadata of a text whose recognised words have this confidence, 0 if
// there are none.
func ReadingOf(confidence float64) Reading {
	if confidence == 0 {
		return Reading{}
	}
	return Reading{true, &confidence}
}

// Sources returns the bodies of passages. link returns the URL of a deep link, or "".
func Sources(passages []search.Source, link func(deepLink string) string) []Source {
	out := make([]Source, len(passages))
	for i, p := range passages {
		out[i] = Source{
			DocID: p.Document.String(), DocumentTitle: p.Title, LeafTitle: p.LeafTitle, SectionPath: p.Path,
			StartPage: page(p.StartPage), EndPage: page(p.EndPage),
			Text: p.Text, Score: p.Score, DeepLink: p.DeepLink, URL: link(p.DeepLink), Folder: p.Folder, Owner: p.Owner, Metadata: ReadingOf(p.Confidence),
		}
		for _, d := range p.Duplicates {
			out[i].Duplicates = append(out[i].Duplicates, Duplicate{d.Document.String(), d.Title, page(d.StartPage), d.DeepLink, link(d.DeepLink), d.Folder})
		}
	}
	return out
}

// page returns a pointer to n, or nil if n is 0 because the document has no pages.
func page(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
