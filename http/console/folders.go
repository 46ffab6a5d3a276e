package console

import (
	"cmp"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/http/console/richtext"
	"annals/http/console/trail"

	"github.com/gorilla/mux"
)

// folderEntry is a folder in a reply of the REST interface.
type folderEntry struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Parent    string    `json:"parentFolderId"` // "" at the top level, or if the visitor may not read the parent
	UpdatedAt time.Time `json:"updatedAt"`
}

// URL returns the address of the folder's page, or that of the top level if there is no ID.
func (f folderEntry) URL() string { return strings.TrimSuffix("/folders/"+f.ID, "/") }

// documentEntry is a document in a reply of the REST interface.
type documentEntry struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	ContentType string    `json:"contentType"`
	Size        int64     `json:"size"`
	Folder      string    `json:"folderId"`
	Version     int       `json:"version"`
	UpdatedAt   time.Time `json:"updatedAt"`
	Tags        []string  `json:"tags"`
}

// invitationEntry is an invitation in a reply of the REST interface.
type invitationEntry struct {
	Folder string    `json:"folderId"`
	Name   string    `json:"folderName"`
	By     string    `json:"invitedBy"`
	Access string    `json:"access"`
	At     time.Time `json:"invitedAt"`
}

// Who returns the name of the user who invites.
func (i invitationEntry) Who() string { return trail.NameOf(i.By) }

// May says what the invitation allows.
func (i invitationEntry) May() string { return mayDo[i.Access] }

// crumb is a step of the way to a page.
type crumb struct{ Name, URL string }

// Limits of what a page lists.
const (
	listedDocuments = 50  // documents of a page
	listedFolders   = 200 // folders below one folder
	maxDepth        = 64  // folders above a folder; the REST interface allows fewer
)

// folderPage is the content of the page of a folder, or of the top level.
type folderPage struct {
	Folder     *folderEntry // nil at the top level
	Path       string       // as the search takes it; "" if there is none
	Crumbs     []crumb
	Tree       []branch
	Folders    []folderEntry // directly below
	MoreLeft   bool          // there are more folders than Folders
	Documents  []documentEntry
	Columns    []column
	Name, Tag  string // the filters
	Sort       string
	Descending bool
	First      string   // address of the first page, "" on it
	Next       string   // address of the next page, "" on the last
	Count      string   // number of documents of the folder; "" if only some are listed
	Summary    *summary // of a long folder only if it is asked for, because it takes a while
	Offers     []invitationEntry
	Shares     bool // the visitor owns the folder
	Done       *outcome
	Action     string // address of the page, for its form of filters
}

// Filtered reports whether only some documents are listed.
func (p folderPage) Filtered() bool { return p.Name != "" || p.Tag != "" }

// branch is an entry of the tree of folders.
type branch struct {
	folderEntry
	Here  bool
	Open  bool
	Below []branch
	More  bool // there are more folders than Below
}

// column is a heading of the list of documents, by which the list can be sorted.
type column struct {
	Title, URL string
	Order      string // "ascending" or "descending" if the list is sorted by this column
}

// summary is the summary of a folder.
type summary struct {
	Description string
	HTML        template.HTML
	Truncated   bool
}

// folders shows the folders at the top level, and, with a tag, the documents of all folders
// that have it.
func (c *Console) folders(v *visit) error {
	p := folderPage{Action: "/folders", Crumbs: []crumb{{Name: "Folders"}}, Done: outcomeOf(v.URL.Query())}
	var err error
	if p.Folders, p.MoreLeft, err = v.foldersIn(""); err != nil {
		return err
	}
	if err := v.get("/vault/invitations", nil, &p.Offers); err != nil {
		return err
	}
	if err := v.list(&p); err != nil {
		return err
	}
	c.show(v, http.StatusOK, "folders", page{Title: "Folders", Section: "folders", Scripts: []string{"folders.js"}, Content: p})
	return nil
}

// folder shows a folder.
func (c *Console) folder(v *visit) error {
	f, _, err := v.folder(v.id())
	if err != nil {
		return err
	}
	above, err := v.above(f)
	if err != nil {
		return err
	}
	p := folderPage{Folder: &f, Action: f.URL(), Crumbs: append(crumbsOf(above), crumb{Name: f.Name})}
	if p.Done, err = v.outcome(); err != nil {
		return err
	}
	if p.Folders, p.MoreLeft, err = v.foldersIn(f.ID); err != nil {
		return err
	}
	if p.Tree, err = v.tree(append(slices.Clone(above), f), p.Folders, p.MoreLeft); err != nil {
		return err
	}
	if p.Path, err = v.pathOf(append(above, f)); err != nil {
		return err
	}
	if err := v.list(&p); err != nil {
		return err
	}
	if p.Path != "" && v.URL.Query().Has("summary") || p.Path != "" && p.First == "" && p.Next == "" && !p.Filtered() {
		if p.Summary, err = v.summary(p.Path); err != nil {
			return err
		}
	}
	var list permissionList
	if p.Shares, err = v.may("/vault/folders/"+f.ID+"/permissions", nil, &list); err != nil {
		return err
	}
	c.show(v, http.StatusOK, "folders", page{Title: f.Name, Section: "folders", Scripts: []string{"folders.js"}, Content: p})
	return nil
}

// id returns the id in the path of the page.
func (v *visit) id() string { return mux.Vars(v.Request)["id"] }

// folder reads a folder and its version.
func (v *visit) folder(id string) (f folderEntry, version string, err error) {
	header, err := v.send(v.Context(), call{method: "GET", path: "/vault/folders/" + id}, &f)
	if err != nil {
		return f, "", err
	}
	version, _, _ = strings.Cut(strings.Trim(header.Get("ETag"), `"`), ".")
	return f, version, nil
}

// above returns the folders above a folder, as far up as the visitor may read them, from the
// top down.
func (v *visit) above(f folderEntry) (all []folderEntry, err error) {
	for range maxDepth {
		if f.Parent == "" {
			break
		}
		if f, _, err = v.folder(f.Parent); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	slices.Reverse(all)
	return all, nil
}

// crumbsOf returns the way down to a folder.
func crumbsOf(way []folderEntry) []crumb {
	crumbs := []crumb{{"Folders", "/folders"}}
	for _, f := range way {
		crumbs = append(crumbs, crumb{f.Name, f.URL()})
	}
	return crumbs
}

// foldersIn lists the folders below a folder, or at the top level if it is "".
func (v *visit) foldersIn(parent string) (all []folderEntry, more bool, err error) {
	query := url.Values{"limit": {strconv.Itoa(listedFolders)}}
	if parent != "" {
		query.Set("parentFolderId", parent)
	}
	header, err := v.send(v.Context(), call{method: "GET", path: "/vault/folders", query: query}, &all)
	return all, nextCursor(header) != "", err
}

// tree returns the tree of folders with the way to the last one open. below are the folders
// in that one.
func (v *visit) tree(way, below []folderEntry, more bool) ([]branch, error) {
	lower := make([]branch, len(below))
	for i, f := range below {
		lower[i] = branch{folderEntry: f}
	}
	for i := len(way) - 1; i >= 0; i-- {
		all, moreHere, err := v.foldersIn(way[i].Parent)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(f folderEntry) bool { return f.ID == way[i].ID }) {
			all = append([]folderEntry{way[i]}, all...) // it is further down the list
		}
		level := make([]branch, len(all))
		for k, f := range all {
			level[k] = branch{folderEntry: f}
			if f.ID == way[i].ID {
				level[k].Open, level[k].Here, level[k].Below, level[k].More = true, i == len(way)-1, lower, more
			}
		}
		lower, more = level, moreHere
	}
	return lower, nil
}

// pathOf returns the path of the last folder of a way down, as searches and summaries take
// it. For a visitor who may not read the folders above, the path begins with the name of the
// first folder, with a part of its id if the name is ambiguous. It is "" if no path leads to
// this very folder.
func (v *visit) pathOf(way []folderEntry) (string, error) {
	names := make([]string, len(way))
	for i, f := range way {
		names[i] = f.Name
	}
	for _, first := range []string{names[0], names[0] + " (" + way[0].ID[:8] + ")"} {
		names[0] = first
		path := strings.Join(names, "/")
		var at []folderEntry
		if err := v.get("/vault/folders", url.Values{"path": {path}}, &at); err != nil {
			return "", err
		}
		if len(at) == 1 && at[0].ID == way[len(way)-1].ID {
			return path, nil
		}
	}
	return "", nil
}

// summary reads the summary of a folder. It is nil if there is none now.
func (v *visit) summary(path string) (*summary, error) {
	var reply struct {
		Summary *struct {
			Description string `json:"description"`
			Content     string `json:"content"`
			Truncated   bool   `json:"truncated"`
		} `json:"folder_summary"`
	}
	err := v.get("/core/folders/summary", url.Values{"folder_name": {path}}, &reply)
	if err != nil || reply.Summary == nil {
		return nil, err
	}
	return &summary{reply.Summary.Description, richtext.HTML(reply.Summary.Content, nil), reply.Summary.Truncated}, nil
}

// may makes a GET that some visitors may not make. allowed is false if this one may not.
func (v *visit) may(path string, query url.Values, out any) (allowed bool, err error) {
	err = v.get(path, query, out)
	var p *problem
	if errors.As(err, &p) && (p.Status == http.StatusForbidden || p.Status == http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// columns are the columns by which documents can be sorted, with the direction in which each
// is sorted first.
var columns = []struct {
	title, name string
	descending  bool
}{{"Name", "name", false}, {"Size", "size", true}, {"Changed", "updatedAt", true}}

// list adds a page of documents, as the parameters of the address choose and sort them.
func (v *visit) list(p *folderPage) error {
	q := v.URL.Query()
	p.Name, p.Tag = strings.TrimSpace(q.Get("name")), strings.TrimSpace(q.Get("tag"))
	shown := url.Values{}
	for name, value := range map[string]string{"name": p.Name, "tag": p.Tag} {
		if value != "" {
			shown.Set(name, value)
		}
	}
	for _, one := range columns {
		col := column{Title: one.title}
		to := url.Values{"sort": {one.name}}
		descending := one.descending
		if one.name == cmp.Or(q.Get("sort"), "name") {
			p.Sort, p.Descending, col.Order = one.name, q.Get("order") == "desc", "ascending"
			if p.Descending {
				col.Order = "descending"
			}
			descending = !p.Descending
		}
		if descending {
			to.Set("order", "desc")
		}
		for name, values := range shown {
			to[name] = values
		}
		col.URL = p.Action + "?" + to.Encode()
		p.Columns = append(p.Columns, col)
	}
	if p.Folder == nil && p.Tag == "" {
		return nil
	}
	filter := maps.Clone(shown)
	filter.Set("limit", strconv.Itoa(listedDocuments))
	filter.Set("include", "size,tags")
	if !p.Filtered() { // what a filter leaves takes too long to count
		filter.Set("include", "size,tags,count")
	}
	if p.Folder != nil {
		filter.Set("folderId", p.Folder.ID)
	}
	if p.Sort != "" && (p.Sort != "name" || p.Descending) {
		shown.Set("sort", p.Sort)
		filter.Set("sort", p.Sort)
		if p.Descending {
			shown.Set("order", "desc")
			filter.Set("order", "desc")
		}
	}
	if cursor := q.Get("cursor"); cursor != "" {
		filter.Set("cursor", cursor)
		p.First = p.Action + "?" + shown.Encode()
	}
	header, err := v.send(v.Context(), call{method: "GET", path: "/vault/documents", query: filter}, &p.Documents)
	if err != nil {
		return err
	}
	if p.Count = header.Get("X-Total-Count"); p.Count == "0" {
		p.Count = ""
	}
	if cursor := nextCursor(header); cursor != "" {
		shown.Set("cursor", cursor)
		p.Next = p.Action + "?" + shown.Encode()
	}
	return nil
}
