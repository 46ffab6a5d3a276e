package mcp

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
	"annals/queries/accesslog"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// document is a document in a listing.
type document struct {
	ID         string   `json:"id" jsonschema:"id of the document"`
	Title      string   `json:"title" jsonschema:"title of the document"`
	Tags       []string `json:"tags" jsonschema:"tags of the document"`
	Name       string   `json:"name" jsonschema:"name of the file"`
	FolderName string   `json:"folder_name" jsonschema:"path of its folder"`
}

// documents returns a page of a listing.
func (h *Handler) documents(c call, f vault.DocumentFilter) (docs []document, m more, err error) {
	f.Limit = documentsPage
	found, next, err := h.Queries.Documents(c, c.user, f)
	if fault.Is(err, fault.Invalid) {
		err = errCursor // a wrong cursor is the only possible mistake in the filter
	}
	docs, m.NextCursor = []document{}, next
	for _, d := range found {
		docs = append(docs, document{d.ID.String(), d.Title, orEmpty(d.Tags), d.Name, d.FolderShown})
	}
	return docs, m, err
}

func documentList(docs []document) string {
	var b strings.Builder
	for _, d := range docs {
		fmt.Fprintf(&b, "- **%s** `%s`, file “%s” in “%s”", inLine(d.Title), d.ID, inLine(d.Name), inLine(d.FolderName))
		if len(d.Tags) > 0 {
			b.WriteString(", tags: " + inLine(strings.Join(d.Tags, ", ")))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// describe returns a document that the caller may read. If the caller may not read it, the
// denial is recorded in the access log.
func (h *Handler) describe(c call, tool, id string) (vault.Document, error) {
	parsed, err := h.documentID(id)
	if err != nil {
		return vault.Document{}, err
	}
	d, err := h.Queries.Describe(c, c.user, parsed)
	h.record(c, tool, "", parsed, err)
	return d, h.advise(err, fault.NotFound, whichDocuments)
}

const whichDocuments = "service_search, service_list_documents_by_folder and service_list_documents_by_tag list the ids of those you may read."

// documentID parses a document id. The error for a malformed id is the same as for a missing
// document.
func (h *Handler) documentID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return id, h.advise(fault.Errorf(fault.NotFound, "%q is not the id of a document", text), fault.NotFound, whichDocuments)
	}
	return id, nil
}

var markdownTool = tool{
	name: "get_document_markdown", title: "Read a document",
	about: `Returns the full text of a document as Markdown, for any type of file, in pages of about 40,000 bytes that end at line ends. ` +
		`If the document has pages, <!-- page 29 --> precedes the text of page 29: cite pages by that, with the url of service_get_document_metadata. Text of the document that looks like such a comment is escaped as &lt;!--. ` +
		`If there is a next_cursor, there is more. For a long document, service_search or service_ask scoped to it finds the place faster.`,
}

type documentIn struct {
	DocumentID string `json:"document_id" jsonschema:"id of the document, from a search or a listing"`
}

type markdownIn struct {
	documentIn
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the last page; leave it out for the first"`
}

type markdownOut struct {
	DocumentID string `json:"document_id" jsonschema:"id of the document"`
	Title      string `json:"title" jsonschema:"title of the document"`
	Version    int    `json:"version" jsonschema:"version of the document that has this text"`
	Markdown   string `json:"markdown" jsonschema:"this page of the text; the first page begins with front matter that contains type and title"`
	more
}

func (h *Handler) markdown(c call, in markdownIn) (out markdownOut, err error) {
	id, err := h.documentID(in.DocumentID)
	if err != nil {
		return out, err
	}
	version, from, err := parseTextCursor(id, in.Cursor)
	if err != nil {
		return out, err
	}
	page, err := h.Queries.MarkdownPage(c, c.user, id, from, textPage)
	h.record(c, markdownTool.name, accesslog.Exported, id, err)
	if err != nil {
		return out, h.advise(err, fault.NotFound, whichDocuments)
	}
	d := page.Document
	if in.Cursor != "" && version != d.Version {
		return out, fault.Errorf(fault.Conflict, "the document has changed since the cursor was returned: leave the cursor out to read from the beginning")
	}
	out = markdownOut{DocumentID: d.ID.String(), Title: d.Title, Version: d.Version, Markdown: page.Text}
	if page.Next > 0 {
		out.NextCursor = cursor("text "+id.String(), fmt.Sprintf("%d %d", d.Version, page.Next))
	}
	return out, nil
}

// parseTextCursor parses the cursor of a document's text. It returns the version of the
// document that the previous page showed, and the byte offset at which that page ended.
func parseTextCursor(document uuid.UUID, text string) (version int, from int64, err error) {
	at, err := parseCursor("text "+document.String(), text)
	if at == "" || err != nil {
		return 0, 0, err
	}
	first, second, _ := strings.Cut(at, " ")
	version, err = strconv.Atoi(first)
	if err == nil {
		from, err = strconv.ParseInt(second, 10, 64)
	}
	if err != nil || from < 0 {
		return 0, 0, errCursor
	}
	return version, from, nil
}

func (o markdownOut) markdown() string { return o.Markdown }

var metadataTool = tool{
	name: "get_document_metadata", title: "Show a document's metadata",
	about: `Returns a document's title, what you may do with it, its tags, when it was imported, and its folder, version, pages, type, size and link. It does not read the text: service_get_document_markdown does.`,
}

type metadataOut struct {
	DocumentID  string   `json:"document_id" jsonschema:"id of the document"`
	Title       string   `json:"title" jsonschema:"title of the document"`
	AccessLevel string   `json:"access_level" jsonschema:"what you may do: read; write: change it too; own: share and delete it too"`
	Tags        []string `json:"tags" jsonschema:"tags of the document"`
	CreatedAt   string   `json:"created_at" jsonschema:"when it was imported, ISO 8601"`
	UpdatedAt   string   `json:"updated_at" jsonschema:"when it last changed, ISO 8601"`
	Name        string   `json:"name" jsonschema:"name of the file"`
	FolderName  string   `json:"folder_name" jsonschema:"path of its folder"`
	Description string   `json:"description" jsonschema:"what it is about, in a line"`
	ContentType string   `json:"content_type" jsonschema:"media type of the file"`
	Size        int64    `json:"size" jsonschema:"bytes of the file"`
	Pages       *int     `json:"pages" jsonschema:"number of its pages; null if it has none"`
	Version     int      `json:"version" jsonschema:"rises by one with every change"`
	reading
	OCRPages    int    `json:"ocr_pages" jsonschema:"number of scanned pages whose words were recognised"`
	UnreadPages int    `json:"unread_pages" jsonschema:"number of scanned pages that were not read"`
	DeepLink    string `json:"deep_link" jsonschema:"path to the original file, below the service's address"`
	URL         string `json:"url,omitempty" jsonschema:"URL of the original file, for people to open in a browser; append #page=N to open a PDF at that page"`
}

func (h *Handler) metadata(c call, in documentIn) (out metadataOut, err error) {
	d, err := h.describe(c, metadataTool.name, in.DocumentID)
	if err != nil {
		return out, err
	}
	access, err := h.Queries.Access(c, c.user, d.Folder)
	if err != nil {
		return out, h.advise(err, fault.NotFound, whichDocuments)
	}
	if d.SHA256 == "" {
		access = events.Read // a folder summary has no owner
	}
	return metadataOut{
		DocumentID: d.ID.String(), Title: d.Title, AccessLevel: access.String(), Tags: orEmpty(d.Tags),
		CreatedAt: moment(d.CreatedAt), UpdatedAt: moment(d.UpdatedAt), Name: d.Name, FolderName: d.FolderShown, Description: d.Description,
		ContentType: d.MediaType, Size: d.Size, Pages: pageNumber(d.Pages), Version: d.Version, reading: readingOf(d.Confidence), OCRPages: d.OCRPages, UnreadPages: d.UnreadPages, DeepLink: d.DeepLink(0), URL: httpd.Link(h.LinkURL, d.DeepLink(0)),
	}, nil
}

// moment returns a time as text: ISO 8601 in UTC, with milliseconds.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (o metadataOut) markdown() string {
	pages := ""
	if o.Pages != nil {
		pages = ", " + count(*o.Pages, "page")
	}
	if o.OCR {
		pages += fmt.Sprintf(", of which %d%s", o.OCRPages, strings.TrimPrefix(o.remark(), ","))
	}
	if o.UnreadPages > 0 {
		pages += fmt.Sprintf(", %d scanned and not read", o.UnreadPages)
	}
	tags := "none"
	if len(o.Tags) > 0 {
		tags = inLine(strings.Join(o.Tags, ", "))
	}
	return fmt.Sprintf("**%s**\n\n- document `%s`, version %d\n- file “%s” (%s, %s%s) in “%s”\n- access: %s\n- tags: %s\n- imported %s, changed %s\n- link: %s\n\n%s\n",
		inLine(o.Title), o.DocumentID, o.Version, inLine(o.Name), o.ContentType, count(int(o.Size), "byte"), pages, inLine(o.FolderName),
		o.AccessLevel, tags, o.CreatedAt, o.UpdatedAt, cmp.Or(o.URL, o.DeepLink), inLine(o.Description))
}
