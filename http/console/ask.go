package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"annals/http/console/richtext"
	"annals/http/console/viewer"

	"github.com/google/uuid"
)

// source is a passage in a reply of the REST interface.
type source struct {
	DocID         string   `json:"doc_id"`
	DocumentTitle string   `json:"document_title"`
	LeafTitle     string   `json:"leaf_title"`
	SectionPath   []string `json:"section_path"`
	StartPage     int      `json:"start_page"`
	EndPage       int      `json:"end_page"`
	Text          string   `json:"text"`
	Folder        string   `json:"folder"`
	Metadata      struct {
		OCR        bool    `json:"ocr"`
		Confidence float64 `json:"confidence"`
	} `json:"metadata"`
	Duplicates []source `json:"duplicates"`
}

// answer is the reply to a question.
type answer struct {
	Answer     string   `json:"answer"`
	Reasoning  string   `json:"reasoning"`
	Confidence float64  `json:"confidence"`
	Sources    []source `json:"sources"`
	AnsweredBy string   `json:"answered_by"`
	Model      string   `json:"model"`
	Fallback   string   `json:"fallback"`
}

// Confidence from which an answer counts as sure, and below which it is not shown as one.
const (
	sure   = .7
	likely = .3
)

// asking is the content of the first page.
type asking struct {
	Query, Folder, Tag string
	Problem            *problem // why there are no passages or no answer
	Answer             *shownAnswer
	Later              bool // a script asks for the answer, which takes seconds
	Only               bool // of all this, a script takes only the document
	Passages           []passage
	Next               string       // address of the next passages
	More               bool         // these are not the first passages
	Viewer             *viewer.View // the document that is open beside the passages; nil if none is
	Refused            *problem
}

// shownAnswer is an answer as people see it.
type shownAnswer struct {
	Found     bool
	Sure      bool
	Text      template.HTML
	Reasoning string
	Percent   int
	Model     string
	Fallback  string
	Sources   []passage
}

// passage is a passage as people see it.
type passage struct {
	source
	Number int
	HTML   template.HTML
	Where  []string // titles of the enclosing sections
	Pages  string   // "page 3" or "pages 3–4"; "" if there are none
	View   string   // address of the document with the passage marked
}

// ask shows the field for questions and, if there is a question, its answer and passages.
func (c *Console) ask(v *visit) error {
	q := v.URL.Query()
	a := askingOf(q)
	if a.Query == "" {
		return c.welcome(v, a)
	}
	if !a.Only {
		err := c.results(v, &a, q)
		var told bool
		if a.Problem, told = refusal(err); err != nil && !told {
			return err
		}
	}
	if err := a.open(v, q); err != nil {
		return err
	}
	c.show(v, statusOf(a.Problem), "ask", page{Title: a.Query, Section: "ask", Query: a.Query, Scripts: []string{"ask.js", "viewer.js"}, Content: a})
	return nil
}

// results adds the passages and the answer.
func (c *Console) results(v *visit, a *asking, q url.Values) error {
	if err := c.find(v, a, q.Get("cursor")); err != nil || a.More {
		return err
	}
	if c.Composes && q.Get("wait") == "" {
		a.Later = true
		return nil
	}
	return c.answer(v, a)
}

// open reads the document that the address opens beside the passages. If it is refused, the
// page says so beside them.
func (a *asking) open(v *visit, q url.Values) (err error) {
	id, err := uuid.Parse(q.Get("open"))
	if err != nil {
		return nil
	}
	known := a.Passages
	if a.Answer != nil {
		known = append(a.Answer.Sources, known...)
	}
	a.Viewer, err = v.view(id.String(), q, true, known...)
	if errors.As(err, &a.Refused) && a.Refused.Status != http.StatusUnauthorized {
		return nil
	}
	return err
}

func askingOf(q url.Values) asking {
	return asking{Query: strings.TrimSpace(q.Get("q")), Folder: strings.Trim(q.Get("folder"), "/ "), Tag: strings.TrimSpace(q.Get("tag")), More: q.Get("cursor") != "", Only: q.Get("only") == "document"}
}

// welcome shows the field alone.
func (c *Console) welcome(v *visit, a asking) error {
	c.show(v, http.StatusOK, "ask", page{Title: "Ask", Section: "ask", Content: a})
	return nil
}

// question is the body of a search or question.
func (a *asking) question() map[string]any {
	body := map[string]any{"query": a.Query}
	if a.Folder != "" {
		body["folder_name"] = a.Folder
	}
	if a.Tag != "" {
		body["tags"] = []string{a.Tag}
	}
	return body
}

// find looks for passages.
func (c *Console) find(v *visit, a *asking, cursor string) error {
	body := a.question()
	if cursor != "" {
		body["cursor"] = cursor
	}
	var found struct {
		Sources []source `json:"sources"`
		Next    string   `json:"next_cursor"`
	}
	if _, err := v.send(v.Context(), call{method: "POST", path: "/core/search", body: body}, &found); err != nil {
		return err
	}
	a.Passages = a.passages(found.Sources, richtext.Words(a.Query))
	if found.Next != "" {
		a.Next = "/?" + a.values("cursor", found.Next).Encode()
	}
	return nil
}

// answer asks for the answer.
func (c *Console) answer(v *visit, a *asking) error {
	var got answer
	if _, err := v.send(v.Context(), call{method: "POST", path: "/core/ask", body: a.question()}, &got); err != nil {
		return err
	}
	a.Answer = a.shown(got)
	return nil
}

// shown returns an answer as people see it.
func (a *asking) shown(got answer) *shownAnswer {
	out := &shownAnswer{
		Found: got.Answer != "" && got.Confidence >= likely, Sure: got.Confidence >= sure,
		Text: richtext.HTML(got.Answer, nil), Reasoning: got.Reasoning, Percent: int(got.Confidence*100 + .5), Model: got.Model, Fallback: got.Fallback,
	}
	if out.Found {
		quotes := richtext.Sentences(got.Answer)
		out.Sources = a.passages(got.Sources, quotes)
		for i := range out.Sources {
			out.Sources[i].point(quotes)
		}
	}
	return out
}

// renderAnswer renders an answer that a script has got from the REST interface, so that
// there is one way only in which answers look.
func (c *Console) renderAnswer(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	var got answer
	if err := json.Unmarshal([]byte(form.Get("answer")), &got); err != nil {
		return &problem{Status: http.StatusBadRequest, Sentence: "This is no answer."}
	}
	a := askingOf(v.URL.Query())
	a.Answer = a.shown(got)
	c.show(v, http.StatusOK, "ask", page{Title: a.Query, Section: "ask", Content: a})
	return nil
}

// values returns the parameters of the page, with one more.
func (a *asking) values(name, value string) url.Values {
	out := url.Values{"q": {a.Query}, name: {value}}
	if a.Folder != "" {
		out.Set("folder", a.Folder)
	}
	if a.Tag != "" {
		out.Set("tag", a.Tag)
	}
	return out
}

// passages returns passages as people see them, with marks.
func (a *asking) passages(sources []source, marks []string) []passage {
	out := make([]passage, len(sources))
	for i, s := range sources {
		p := passage{source: s, Number: i + 1, HTML: richtext.HTML(s.Text, marks), Pages: pagesOf(s.StartPage, s.EndPage)}
		p.Where = s.SectionPath
		if len(p.Where) == 0 && s.LeafTitle != "" {
			p.Where = []string{s.LeafTitle}
		}
		p.View = s.view(a)
		out[i] = p
	}
	return out
}

// view returns the address of a passage in its document. It has no words of the document,
// because people send such addresses to others, who may not be allowed to read it. The
// passage is found again by the query and by its digest.
func (s source) view(a *asking) string {
	values := a.values("hit", digest(s.Text))
	if a.Query == "" {
		values.Del("q")
	}
	if s.StartPage > 0 {
		values.Set("page", strconv.Itoa(s.StartPage))
	}
	return "/documents/" + s.DocID + "?" + values.Encode()
}

// point adds to the address of a passage which of its words are one of the quotations.
func (p *passage) point(quotations []string) {
	if span, found := richtext.Find(p.Text, quotations); found {
		p.View += "&words=" + strconv.Itoa(span.From) + "-" + strconv.Itoa(span.To)
	}
}

// digest identifies the text of a passage in an address.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

func pagesOf(first, last int) string {
	switch {
	case first == 0:
		return ""
	case last <= first:
		return "page " + strconv.Itoa(first)
	}
	return "pages " + strconv.Itoa(first) + "–" + strconv.Itoa(last)
}
