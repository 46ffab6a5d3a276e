package console

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/http/console/marks"
	"annals/http/console/richtext"
	"annals/http/console/viewer"
)

const (
	// maxFound is the number of passages of a document among which one is looked for.
	maxFound = 100
	// boxesWithin is the time after which a page is shown without marks. Words of scanned
	// pages may have to be recognised again.
	boxesWithin = 4 * time.Second
)

// documentPage is the content of the page of a document.
type documentPage struct {
	*viewer.View
	Crumbs []crumb
	Tags   []string
	Done   *outcome
}

// showDocument shows a document, with the passage that the address asks for.
func (c *Console) showDocument(v *visit) error {
	w, err := v.view(v.id(), v.URL.Query(), false)
	if err != nil {
		return err
	}
	p := documentPage{View: w, Done: outcomeOf(v.URL.Query())}
	d := documentEntry{ID: w.Document.ID, Name: w.Document.Name, Folder: w.Document.FolderID}
	if w.Document.Past > 0 {
		d, err = v.document(d.ID) // the folder in which it is now
	} else {
		p.Tags, err = v.tagsOf(d.ID)
	}
	if err != nil {
		return err
	}
	if p.Crumbs, err = v.wayTo(d, crumb{Name: "Version " + strconv.Itoa(w.Document.Past)}); err != nil {
		return err
	}
	if w.Document.Past == 0 {
		p.Crumbs = p.Crumbs[:len(p.Crumbs)-1]
		p.Crumbs[len(p.Crumbs)-1].URL = ""
	}
	c.show(v, http.StatusOK, "document", page{Title: w.Title(), Section: "folders", Scripts: []string{"viewer.js", "folders.js"}, Content: p})
	return nil
}

// view reads what is shown of a document. known are passages among which that of the address may
// be, so that it is not searched for again.
func (v *visit) view(id string, values url.Values, beside bool, known ...passage) (*viewer.View, error) {
	w := &viewer.View{Beside: beside, Zoom: viewer.Zooms[0], Values: values}
	w.Document.ID, w.Document.Past = url.PathEscape(id), viewer.Version(values)
	if err := v.get(w.Document.Path(), nil, &w.Document); err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(values.Get("zoom")); err == nil && slices.Contains(viewer.Zooms, n) {
		w.Zoom = n
	}
	hit, err := v.passage(w.Document.ID, values.Get("q"), values.Get("hit"), known)
	if err != nil {
		return nil, err
	}
	words := span(values.Get("words"))
	w.Lost = hit == nil && values.Get("hit") != ""
	if hit != nil {
		w.Passage = richtext.Marked(hit.Text, func(all []string) []richtext.Mark {
			out := make([]richtext.Mark, len(all))
			for i := max(words.From, 0); i < min(words.To, len(all)); i++ {
				out[i] = richtext.Answers
			}
			return out
		})
		w.Passage = template.HTML(strings.Replace(string(w.Passage), ` id="hit"`, "", 1)) // the page has it
	}
	if !w.Document.Pictured() || values.Get("as") == "text" {
		p, err := v.partOf(w, hit)
		if err != nil {
			return nil, err
		}
		passage := ""
		if hit != nil {
			passage = hit.Text
		}
		w.Show(p, passage, words)
		return w, nil
	}
	w.Page = 1
	if hit != nil && hit.StartPage > 0 {
		w.Page = hit.StartPage
	}
	if n, err := strconv.Atoi(values.Get("page")); err == nil && n > 0 {
		w.Page = n
	}
	w.Page = min(w.Page, w.Document.Pages)
	if hit != nil {
		w.Number = hit.StartPage
		return w, v.marks(w, hit, words)
	}
	return w, nil
}

// passage looks for a passage of a document by the query with which it was found before. It is
// nil if there is none with this digest.
func (v *visit) passage(document, query, hit string, known []passage) (*source, error) {
	if hit == "" || query == "" {
		return nil, nil
	}
	for i, k := range known {
		if k.DocID == document && digest(k.Text) == hit {
			return &known[i].source, nil
		}
	}
	var found struct{ Sources []source }
	body := map[string]any{"query": query, "document_id": document, "limit": maxFound}
	if _, err := v.send(v.Context(), call{method: "POST", path: "/core/search", body: body}, &found); err != nil {
		return nil, err
	}
	for i := range found.Sources {
		if digest(found.Sources[i].Text) == hit {
			return &found.Sources[i], nil
		}
	}
	return nil, nil
}

// span returns the range of words in an address, such as 3-7.
func span(text string) richtext.Span {
	from, to, _ := strings.Cut(text, "-")
	a, err := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if err != nil || err2 != nil || a < 0 || a >= b {
		return richtext.Span{}
	}
	return richtext.Span{From: a, To: b}
}

// marks computes the rectangles of a passage on the page. The pages before and after it help to
// tell which part of the passage is on it.
func (v *visit) marks(w *viewer.View, hit *source, words richtext.Span) error {
	if w.Page < hit.StartPage || w.Page > max(hit.EndPage, hit.StartPage) {
		return nil
	}
	ctx, cancel := context.WithTimeout(v.Context(), boxesWithin)
	defer cancel()
	var pages []marks.Page
	shown := 0
	for n := max(hit.StartPage, w.Page-1); n <= min(max(hit.EndPage, hit.StartPage), w.Page+1); n++ {
		var p marks.Page
		_, err := v.send(ctx, call{method: "GET", path: w.Document.Path() + "/pages/" + strconv.Itoa(n) + "/words"}, &p)
		var refused *problem
		switch {
		case err != nil && v.Context().Err() != nil:
			return err
		case err != nil && n != w.Page:
			continue // this page can be marked without the other
		case ctx.Err() != nil || errors.As(err, &refused):
			w.Unmarked = true
			return nil
		case err != nil:
			return err
		}
		if n == w.Page {
			shown = len(pages)
		}
		pages = append(pages, p)
	}
	w.Size = marks.Page{Width: pages[shown].Width, Height: pages[shown].Height}
	w.Marks = marks.On(pages, richtext.WordsOf(hit.Text), words.From, words.To)[shown]
	w.FirstMark = max(0, slices.IndexFunc(w.Marks, func(r marks.Rectangle) bool { return r.Strong }))
	return nil
}

// partOf reads the part of a text around the passage, or else that which the address asks for.
func (v *visit) partOf(w *viewer.View, hit *source) (*viewer.Part, error) {
	var needles []string
	offset, err := strconv.Atoi(w.Values.Get("from"))
	switch page, pageErr := strconv.Atoi(w.Values.Get("page")); {
	case err == nil && offset >= 0:
	case hit != nil:
		needles = viewer.Needles(hit.Text)
	case pageErr == nil && page > 1 && page <= w.Document.Pages:
		needles = []string{"<!-- page " + strconv.Itoa(page) + " -->"}
	}
	for _, needle := range needles {
		p := &viewer.Part{Needle: []byte(needle)}
		if err := v.read(w.Document, p); err != nil {
			return nil, err
		}
		if p.Found {
			return p, nil
		}
	}
	p := &viewer.Part{Offset: max(offset, 0)}
	return p, v.read(w.Document, p)
}

// read reads a part of the text of a document.
func (v *visit) read(d viewer.Document, p *viewer.Part) error {
	if err := v.receive(v.Context(), d.Path()+"/markdown", p); !errors.Is(err, viewer.ErrEnough) {
		return err
	}
	return nil
}
