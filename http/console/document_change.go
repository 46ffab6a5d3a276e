package console

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/http/console/trail"
)

// documentChange is the content of the page on which a document is changed.
type documentChange struct {
	Do       string // "name", "tags", "move", "content" or "delete"
	Document documentEntry
	Crumbs   []crumb
	Back     string // address of the page from which the form was opened; "" for that of the document
	Version  int    // of the document as the page shows it
	Name     string // as typed
	Tags     []tag  // as chosen
	Add      string // tags as typed
	Place    *chooser
	refused
}

// Tabs returns the changes that the page offers.
func (documentChange) Tabs() []documentTab { return documentTabs }

type documentTab struct{ Do, Title string }

var documentTabs = []documentTab{{"name", "Rename"}, {"tags", "Tags"}, {"move", "Move"}, {"content", "New content"}, {"delete", "Delete"}}

// tag is a tag of a document, which a form keeps or takes away.
type tag struct {
	Name string
	Kept bool
}

// URL returns the address of the document's page.
func (d documentEntry) URL() string { return "/documents/" + d.ID }

// document reads a document. Its tags are read by tagsOf.
func (v *visit) document(id string) (d documentEntry, err error) {
	return d, v.get("/vault/documents/"+id, nil, &d)
}

// tagsOf reads the tags of a document.
func (v *visit) tagsOf(id string) (tags []string, err error) {
	return tags, v.get("/vault/documents/"+id+"/tags", nil, &struct{ Tags *[]string }{&tags})
}

// askDocumentChange shows the form for a change of a document.
func (c *Console) askDocumentChange(v *visit) error {
	d, err := v.document(v.id())
	if err != nil {
		return err
	}
	q := v.URL.Query()
	p := documentChange{Do: q.Get("do"), Document: d, Version: d.Version, Name: d.Name, Back: pageOf(q.Get("back"))}
	if p.Do == "tags" {
		tags, err := v.tagsOf(d.ID)
		if err != nil {
			return err
		}
		for _, t := range tags {
			p.Tags = append(p.Tags, tag{t, true})
		}
	}
	to := d.Folder
	if q.Has("in") {
		to = q.Get("in")
	}
	return c.showDocumentChange(v, p, to)
}

// showDocumentChange shows the form. to is the folder that was chosen.
func (c *Console) showDocumentChange(v *visit, p documentChange, to string) error {
	var err error
	if p.Crumbs, err = v.wayTo(p.Document, crumb{Name: "Change"}); err != nil {
		return err
	}
	switch p.Do {
	case "move":
		if p.Place, err = v.choose(p.Document.URL()+"/change?do=move&back="+url.QueryEscape(p.Back), to); err != nil {
			return err
		}
		p.Place.Here, p.Place.Barred = to == p.Document.Folder, to == ""
	case "tags", "content", "delete":
	default:
		p.Do = "name"
	}
	c.show(v, statusOf(p.Problem), "folders_document", page{Title: "Change " + p.Document.Name, Section: "folders", Scripts: []string{"folders.js"}, Content: p})
	return nil
}

// changeDocument renames, moves, tags or deletes a document, or gives it new content.
func (c *Console) changeDocument(v *visit) error {
	form, file, err := v.formWithFile()
	if err != nil {
		return err
	}
	p := documentChange{Do: form.Get("do"), Name: form.Get("name"), Add: form.Get("add"), Back: pageOf(form.Get("back"))}
	p.Version, _ = strconv.Atoi(form.Get("version")) // the REST interface refuses 0
	to := form.Get("to")
	q := call{method: "PATCH", path: "/vault/documents/" + v.id(), match: `"` + strconv.Itoa(p.Version) + `"`}
	switch p.Do {
	case "name":
		q.body = map[string]any{"name": p.Name}
	case "move":
		q.body = map[string]any{"folderId": to}
	case "tags":
		q.method, q.path, q.body = "PUT", q.path+"/tags", map[string]any{"tags": wantedTags(form)}
	case "delete":
		q.method = "DELETE"
	case "content":
		if file == nil {
			return c.refuseDocumentChange(v, p, form, &problem{Status: http.StatusUnprocessableEntity, Sentence: "Choose a file first."})
		}
		q.method, q.path, q.body = "PUT", q.path+"/content", file
	default:
		return errNoForm
	}
	before, err := v.document(v.id())
	if err != nil {
		return err
	}
	status, err := v.change(q, nil)
	if refused, told := refusal(err); told {
		v.drain()
		return c.refuseDocumentChange(v, p, form, refused)
	}
	if err != nil {
		return err
	}
	page, name := cmp.Or(p.Back, before.URL()), p.Do
	switch {
	case p.Do == "delete":
		page = folderEntry{ID: before.Folder}.URL() + "?deleted=" + before.ID
	case p.Do == "content" && status == http.StatusAccepted:
		name = "reading"
	}
	return v.done(page, name, status)
}

// pageOf returns an address if it is that of a page of folders or documents, and "" otherwise.
// Forms carry the address of the page from which they were opened.
func pageOf(address string) string {
	if !folderPages.MatchString(address) {
		return ""
	}
	return address
}

var folderPages = regexp.MustCompile(`^/(folders|(folders|documents)/[0-9a-fA-F-]{36})$`)

// wantedTags returns the tags that a form keeps, and those typed into its field, which are
// separated by commas.
func wantedTags(form url.Values) []string {
	tags := append([]string{}, form["tag"]...)
	for one := range strings.SplitSeq(form.Get("add"), ",") {
		if one = strings.TrimSpace(one); one != "" && !slices.Contains(tags, one) {
			tags = append(tags, one)
		}
	}
	return tags
}

// refuseDocumentChange shows the form again, with what was typed. If the document was changed
// meanwhile, the form says how, and sends the change of the document as it is now.
func (c *Console) refuseDocumentChange(v *visit, p documentChange, form url.Values, refused *problem) error {
	now, err := v.document(v.id())
	if err != nil {
		return err
	}
	p.Document, p.Problem = now, refused
	var tags []string
	if p.Do == "tags" {
		if tags, err = v.tagsOf(now.ID); err != nil {
			return err
		}
		for _, t := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(tags), form["tag"]...)))) {
			p.Tags = append(p.Tags, tag{t, slices.Contains(form["tag"], t)})
		}
	}
	to := form.Get("to")
	if p.Do == "move" {
		there, err := v.isThere(to)
		if err != nil {
			return err
		}
		if !there {
			p.Version, p.Problem = now.Version, errNoPlace
			return c.showDocumentChange(v, p, now.Folder)
		}
	}
	if refused.Status == http.StatusConflict && now.Version != p.Version {
		p.Stale = &conflict{What: "document", Rows: []comparison{{"Name", now.Name, ""}}}
		switch p.Do {
		case "name":
			p.Stale.Rows[0].Wanted = p.Name
		case "move":
			row, err := v.placeRow(now.Folder, to)
			if err != nil {
				return err
			}
			p.Stale.Rows = append(p.Stale.Rows, row)
		case "tags":
			p.Stale.Rows = append(p.Stale.Rows, comparison{"Tags", strings.Join(tags, ", "), strings.Join(wantedTags(form), ", ")})
		}
		if p.Stale.Events, err = v.documentEvents(now.ID, p.Version); err != nil {
			return err
		}
	}
	p.Version = now.Version
	return c.showDocumentChange(v, p, to)
}

// documentEvents returns who made the versions of a document after a version, newest first.
func (v *visit) documentEvents(id string, after int) (events []change, err error) {
	var versions []struct {
		Version   int       `json:"version"`
		CreatedAt time.Time `json:"createdAt"`
		CreatedBy string    `json:"createdBy"`
		Change    string    `json:"change"`
	}
	if err := v.get("/vault/documents/"+id+"/versions", nil, &versions); err != nil {
		return nil, err
	}
	for _, one := range versions {
		if one.Version > after {
			events = append(events, change{trail.NameOf(one.CreatedBy), "made version " + strconv.Itoa(one.Version) + ": " + one.Change, one.CreatedAt})
		}
	}
	slices.SortFunc(events, func(a, b change) int { return b.At.Compare(a.At) })
	return events[:min(len(events), 10)], nil
}
