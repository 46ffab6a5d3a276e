package mcp

import (
	"cmp"
	"fmt"
	"strings"

	httpd "annals/http"
	"annals/queries/search"
)

var searchTool = tool{
	name: "search", title: "Search passages",
	about: `Finds the passages about something, best first, each with its document, section, pages, score, url, folder and the folder's owner. ` +
		`Scope it by folder_name (including subfolders), document_id or tags; service_list_folders and service_list_tags list the existing ones. ` +
		`A folder that does not exist, or that you may not read, has no passages. Use it before service_ask, to see what there is; use the words that the text itself would use.`,
}

type searchIn struct {
	Query      string   `json:"query" jsonschema:"the question, or words to look for; unless it is a question, words in quotation marks have to occur in this order, and passages with -word are left out"`
	FolderName string   `json:"folder_name,omitempty" jsonschema:"path of a folder, such as Contracts/2026, to search only that folder and its subfolders"`
	Tags       []string `json:"tags,omitempty" jsonschema:"tags, to search only documents that have them"`
	TagMode    string   `json:"tag_mode,omitempty" jsonschema:"whether a document needs all of the tags or any one"`
	DocumentID string   `json:"document_id,omitempty" jsonschema:"id of a document, to search only its passages"`
	Limit      int      `json:"limit,omitempty" jsonschema:"maximum number of passages; the default is about ten"`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"next_cursor of an earlier reply, to get the passages after those; query, scope and tags must be the same"`
}

type searchOut struct {
	Sources    []source `json:"sources" jsonschema:"the passages, best first"`
	NextCursor string   `json:"next_cursor,omitempty" jsonschema:"pass it as cursor to get the next page; absent on the last page"`

	query, advice string
}

type source struct {
	DocID         string      `json:"doc_id" jsonschema:"id of the document, for service_get_document_markdown"`
	DocumentTitle string      `json:"document_title" jsonschema:"title of the document"`
	LeafTitle     string      `json:"leaf_title" jsonschema:"title of the section that contains the passage"`
	StartPage     *int        `json:"start_page" jsonschema:"page on which the passage begins; null if the document has no pages"`
	EndPage       *int        `json:"end_page" jsonschema:"page on which the passage ends; null if the document has no pages"`
	Text          string      `json:"text" jsonschema:"the passage, in Markdown"`
	Score         float64     `json:"score" jsonschema:"how well the passage matches, comparable only within one reply"`
	DeepLink      string      `json:"deep_link" jsonschema:"path to the original file at the page of the passage that matches best, below the service's address"`
	URL           string      `json:"url,omitempty" jsonschema:"URL of the original file at that page, for people to open in a browser: cite this"`
	Folder        string      `json:"folder" jsonschema:"path of the document's folder"`
	Owner         string      `json:"owner,omitempty" jsonschema:"principal of the owner of that folder, such as user:alice: consider whether to trust it"`
	Metadata      reading     `json:"metadata" jsonschema:"how the passage was read"`
	Duplicates    []duplicate `json:"duplicates,omitempty" jsonschema:"other passages with the same text and section title, at most ten; they are not listed as sources"`
}

type duplicate struct {
	DocID         string `json:"doc_id" jsonschema:"id of the document"`
	DocumentTitle string `json:"document_title" jsonschema:"title of the document"`
	StartPage     *int   `json:"start_page" jsonschema:"page on which the passage begins; null if the document has no pages"`
	URL           string `json:"url,omitempty" jsonschema:"URL of the original file at that page"`
	Folder        string `json:"folder" jsonschema:"path of the document's folder"`
}

// reading is the metadata of a text that was read.
type reading struct {
	OCR        bool     `json:"ocr" jsonschema:"whether words of it were recognised in a scanned page, and may be wrong"`
	Confidence *float64 `json:"confidence" jsonschema:"how sure these words are, from 0 to 1; null if there are none"`
}

func readingOf(confidence float64) reading {
	if confidence == 0 {
		return reading{}
	}
	return reading{true, &confidence}
}

func (h *Handler) search(c call, in searchIn) (out searchOut, err error) {
	q := search.Query{Query: in.Query, Folder: in.FolderName, AnyTag: in.TagMode == "any", Limit: in.Limit, Cursor: in.Cursor}
	for _, tag := range in.Tags {
		q.Tags = append(q.Tags, httpd.NormalizeTag(tag))
	}
	out.Sources, out.query = []source{}, in.Query
	out.advice = h.named("Try other words, or a wider scope: service_list_folders and service_list_tags list the folders and tags that you may read.")
	if strings.TrimSpace(q.Query) == "" {
		return out, nil
	}
	if in.DocumentID != "" {
		d, err := h.describe(c, searchTool.name, in.DocumentID)
		if err != nil {
			return out, err
		}
		q.Document = d.ID
	}
	if q.Folder, err = h.scope(c, in.FolderName); err != nil {
		return out, err
	}
	found, next, err := h.Queries.SearchPage(c, c.user, q)
	out.NextCursor = next
	for _, p := range found {
		out.Sources = append(out.Sources, h.sourceOf(p))
	}
	h.recordReads(c, searchTool.name, search.Shown(found)...)
	return out, err
}

func (h *Handler) sourceOf(p search.Source) source {
	var duplicates []duplicate
	for _, d := range p.Duplicates {
		duplicates = append(duplicates, duplicate{d.Document.String(), d.Title, pageNumber(d.StartPage), httpd.Link(h.LinkURL, d.DeepLink), d.Folder})
	}
	return source{
		DocID: p.Document.String(), DocumentTitle: p.Title, LeafTitle: p.LeafTitle,
		StartPage: pageNumber(p.StartPage), EndPage: pageNumber(p.EndPage), Text: p.Text, Score: p.Score, DeepLink: p.DeepLink, URL: httpd.Link(h.LinkURL, p.DeepLink),
		Folder: p.Folder, Owner: p.Owner, Metadata: readingOf(p.Confidence), Duplicates: duplicates,
	}
}

// pageNumber returns a pointer to n, or nil if n is 0 because the document has no pages.
func pageNumber(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func (o searchOut) markdown() string {
	if len(o.Sources) == 0 {
		return "No passages were found. " + o.advice
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s found for “%s”:\n", count(len(o.Sources), "passage"), shortened(o.query))
	for i, s := range o.Sources {
		fmt.Fprintf(&b, "\n%d. %s (score %.2f)\n   %s\n\n%s", i+1, s.name(), s.Score, s.where()+s.also(), quoted(s.Text))
	}
	if o.NextCursor != "" {
		fmt.Fprintf(&b, "\nThere are more: call again with cursor `%s`, and the same other arguments.\n", o.NextCursor)
	}
	return b.String()
}

// name returns the document title, section and pages of a source.
func (s source) name() string {
	name := "**" + inLine(s.DocumentTitle) + "**"
	if s.LeafTitle != s.DocumentTitle {
		name += fmt.Sprintf(", section “%s”", inLine(s.LeafTitle))
	}
	return name + s.pages()
}

// where returns the document id with which to cite a source, its URL and its folder.
func (s source) where() string {
	return fmt.Sprintf("document `%s`, %s, %s%s", s.DocID, cmp.Or(s.URL, s.DeepLink), s.place(), s.Metadata.remark())
}

// also names the documents that contain the same passage.
func (s source) also() string {
	if len(s.Duplicates) == 0 {
		return ""
	}
	names := make([]string, len(s.Duplicates))
	for i, d := range s.Duplicates {
		names[i] = fmt.Sprintf("**%s** (document `%s`, in folder %s)", inLine(d.DocumentTitle), d.DocID, inLine(d.Folder))
	}
	return "\n   The same text is in " + strings.Join(names, ", ")
}

// remark says that a text was recognised, if it was.
func (r reading) remark() string {
	if !r.OCR {
		return ""
	}
	return fmt.Sprintf(", recognised in a scan with confidence %.2f", *r.Confidence)
}

// place returns the folder of a source and the owner of that folder.
func (s source) place() string {
	place := "in folder " + inLine(s.Folder)
	if s.Owner != "" {
		place += " of " + s.Owner
	}
	return place
}

func (s source) pages() string {
	switch {
	case s.StartPage == nil:
		return ""
	case s.EndPage == nil || *s.EndPage == *s.StartPage:
		return fmt.Sprintf(", page %d", *s.StartPage)
	}
	return fmt.Sprintf(", pages %d-%d", *s.StartPage, *s.EndPage)
}

// shortened returns the beginning of a long question.
func shortened(s string) string {
	const most = 200
	runes := []rune(inLine(s[:min(len(s), 8*most)]))
	if len(runes) <= most && len(s) <= 8*most {
		return string(runes)
	}
	return string(runes[:min(len(runes), most)]) + "…"
}
