package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"annals/http/console/trail"
)

// folderChange is the content of the page on which a folder is renamed, moved or deleted.
type folderChange struct {
	Do      string // "name", "move" or "delete"
	Folder  folderEntry
	Crumbs  []crumb
	Version string // of the folder as the page shows it
	Name    string // as typed
	Place   *chooser
	Holds   *holdings
	refused
}

// chooser is a folder to which something can be moved, with the way to others.
type chooser struct {
	To     *folderEntry // nil is the top level
	Way    []crumb
	Below  []crumb
	More   bool
	Here   bool // the thing is there already
	Barred bool // the thing cannot be there
}

// holdings is what is deleted with a folder.
type holdings struct {
	Folders, Documents int
	More               bool // there are more than these
	Names              []string
}

// Empty reports whether a folder has nothing in it.
func (h holdings) Empty() bool { return h.Folders+h.Documents == 0 }

// askFolderChange shows the form for a change of a folder.
func (c *Console) askFolderChange(v *visit) error {
	f, version, err := v.folder(v.id())
	if err != nil {
		return err
	}
	q := v.URL.Query()
	return c.showFolderChange(v, folderChange{Do: q.Get("do"), Folder: f, Version: version, Name: f.Name}, q.Get("in"), q.Has("in"))
}

// showFolderChange shows the form. to is the folder that was chosen, if one was.
func (c *Console) showFolderChange(v *visit, p folderChange, to string, chosen bool) error {
	above, err := v.above(p.Folder)
	if err != nil {
		return err
	}
	p.Crumbs = append(crumbsOf(above), crumb{p.Folder.Name, p.Folder.URL()}, crumb{Name: "Change"})
	switch p.Do {
	case "move":
		if !chosen {
			to = p.Folder.Parent
		}
		if p.Place, err = v.choose(p.Folder.URL()+"/change?do=move", to); err != nil {
			return err
		}
		p.Place.Here = to == p.Folder.Parent
		p.Place.Below = slices.DeleteFunc(p.Place.Below, func(b crumb) bool { return strings.HasSuffix(b.URL, "in="+p.Folder.ID) })
	case "delete":
		if p.Holds, err = v.holdings(p.Folder.ID); err != nil {
			return err
		}
	default:
		p.Do = "name"
	}
	c.show(v, statusOf(p.Problem), "folders_change", page{Title: "Change " + p.Folder.Name, Section: "folders", Scripts: []string{"folders.js"}, Content: p})
	return nil
}

// choose returns a folder as a place to which something can be moved, with the addresses of
// the form for the folders above and below it.
func (v *visit) choose(form, to string) (*chooser, error) {
	link := func(id string) string { return form + "&in=" + id }
	place := &chooser{Way: []crumb{{"All folders", link("")}}}
	if to != "" {
		f, _, err := v.folder(to)
		if err != nil {
			return nil, err
		}
		above, err := v.above(f)
		if err != nil {
			return nil, err
		}
		for _, one := range append(above, f) {
			place.Way = append(place.Way, crumb{one.Name, link(one.ID)})
		}
		place.To = &f
	}
	place.Way[len(place.Way)-1].URL = ""
	below, more, err := v.foldersIn(to)
	if err != nil {
		return nil, err
	}
	for _, f := range below {
		place.Below = append(place.Below, crumb{f.Name, link(f.ID)})
	}
	place.More = more
	return place, nil
}

// Limits of what is counted and named before a folder is deleted.
const (
	countedFolders = 200
	namedHoldings  = 5
)

// holdings counts what is in a folder and below it, up to a limit.
func (v *visit) holdings(id string) (*holdings, error) {
	h := &holdings{}
	for open := []string{id}; len(open) > 0; open = open[1:] {
		below, more, err := v.foldersIn(open[0])
		if err != nil {
			return nil, err
		}
		var docs []documentEntry
		header, err := v.send(v.Context(), call{method: "GET", path: "/vault/documents", query: url.Values{"folderId": {open[0]}, "limit": {strconv.Itoa(namedHoldings)}, "include": {"count"}}}, &docs)
		if err != nil {
			return nil, err
		}
		count, err := strconv.Atoi(header.Get("X-Total-Count"))
		if err != nil {
			return nil, err
		}
		h.Folders += len(below)
		h.Documents += count
		h.More = h.More || more
		for _, f := range below {
			open = append(open, f.ID)
			h.name(f.Name)
		}
		for _, d := range docs {
			h.name(d.Name)
		}
		if h.Folders > countedFolders {
			h.More = true
			break
		}
	}
	return h, nil
}

func (h *holdings) name(name string) {
	if len(h.Names) < namedHoldings {
		h.Names = append(h.Names, name)
	}
}

// newFolder is the content of the page on which a folder is created.
type newFolder struct {
	Parent *folderEntry // nil at the top level
	Crumbs []crumb
	Name   string // as typed
	refused
}

// askNewFolder shows the form for a new folder.
func (c *Console) askNewFolder(v *visit) error {
	return c.showNewFolder(v, newFolder{}, v.URL.Query().Get("in"))
}

func (c *Console) showNewFolder(v *visit, p newFolder, parent string) error {
	p.Crumbs = crumbsOf(nil)
	if parent != "" {
		f, _, err := v.folder(parent)
		if err != nil {
			return err
		}
		above, err := v.above(f)
		if err != nil {
			return err
		}
		p.Parent, p.Crumbs = &f, crumbsOf(append(above, f))
	}
	p.Crumbs = append(p.Crumbs, crumb{Name: "New folder"})
	c.show(v, statusOf(p.Problem), "folders_new", page{Title: "New folder", Section: "folders", Scripts: []string{"folders.js"}, Content: p})
	return nil
}

// createFolder creates a folder.
func (c *Console) createFolder(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	parent, name := form.Get("parent"), form.Get("name")
	body, page := map[string]any{"name": name}, "/folders"
	if parent != "" {
		body["parentFolderId"], page = parent, "/folders/"+url.PathEscape(parent)
	}
	var made folderEntry
	status, err := v.change(call{method: "POST", path: "/vault/folders", body: body}, &made)
	if p, told := refusal(err); told {
		return c.showNewFolder(v, newFolder{Name: name, refused: refused{Problem: p}}, parent)
	}
	if err != nil {
		return err
	}
	if status != http.StatusAccepted {
		page = made.URL()
	}
	return v.done(page, "create", status)
}

// changeFolder renames, moves or deletes a folder.
func (c *Console) changeFolder(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	p := folderChange{Do: form.Get("do"), Name: form.Get("name"), Version: form.Get("version")}
	to := form.Get("to")
	q := call{method: "PATCH", path: "/vault/folders/" + v.id(), match: `"` + p.Version + `"`}
	switch p.Do {
	case "name":
		q.body = map[string]any{"name": p.Name}
	case "move":
		q.body = map[string]any{"parentFolderId": orNull(to)}
	case "delete":
		q.method, q.query = "DELETE", url.Values{"recursive": {strconv.FormatBool(form.Get("recursive") != "")}}
	default:
		return errNoForm
	}
	before, _, err := v.folder(v.id())
	if err != nil {
		return err
	}
	status, err := v.change(q, nil)
	if refused, told := refusal(err); told {
		return c.refuseFolderChange(v, p, to, refused)
	}
	if err != nil {
		return err
	}
	if p.Do == "delete" {
		return v.done(folderEntry{ID: before.Parent}.URL(), "delete", status)
	}
	return v.done(before.URL(), p.Do, status)
}

// refuseFolderChange shows the form again, with what was typed. If the folder was changed
// meanwhile, the form says how, and sends the change of the folder as it is now.
func (c *Console) refuseFolderChange(v *visit, p folderChange, to string, refused *problem) error {
	now, version, err := v.folder(v.id())
	if err != nil {
		return err
	}
	p.Folder, p.Problem = now, refused
	if p.Do == "move" {
		there, err := v.isThere(to)
		if err != nil {
			return err
		}
		if !there {
			p.Version, p.Problem = version, errNoPlace
			return c.showFolderChange(v, p, "", false)
		}
	}
	if refused.Status == http.StatusConflict && version != p.Version {
		p.Stale = &conflict{What: "folder", Rows: []comparison{{"Name", now.Name, ""}}}
		switch p.Do {
		case "name":
			p.Stale.Rows[0].Wanted = p.Name
		case "move":
			row, err := v.placeRow(now.Parent, to)
			if err != nil {
				return err
			}
			p.Stale.Rows = append(p.Stale.Rows, row)
		}
		if p.Stale.Events, err = v.folderEvents(now); err != nil {
			return err
		}
	}
	p.Version = version
	return c.showFolderChange(v, p, to, true)
}

// errNoPlace is the error if something was to be moved to a folder that the visitor cannot read.
var errNoPlace = &problem{Status: http.StatusUnprocessableEntity, Sentence: "The folder that you chose is no longer there. Choose another one."}

// isThere reports whether the visitor can still read the folder to which something was to be moved.
func (v *visit) isThere(folder string) (bool, error) {
	if folder == "" {
		return true, nil // the top level
	}
	return v.may("/vault/folders/"+url.PathEscape(folder), nil, &folderEntry{})
}

// placeRow compares the place of something with that to which it was to be moved.
func (v *visit) placeRow(now, wanted string) (row comparison, err error) {
	row.What = "Folder"
	for id, name := range map[string]*string{now: &row.Now, wanted: &row.Wanted} {
		if *name = "All folders"; id == "" {
			continue
		}
		f, _, err := v.folder(id)
		if err != nil {
			return row, err
		}
		*name = f.Name
	}
	if now == wanted {
		row.Now = row.Wanted
	}
	return row, nil
}

// folderEvents returns the last change of a folder. Only owners may see who made it.
func (v *visit) folderEvents(f folderEntry) ([]change, error) {
	var entries []trail.Entry
	allowed, err := v.may("/vault/audit", url.Values{"folder": {f.ID}, "limit": {"100"}}, &entries)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if allowed && e.FolderID == f.ID && e.DocumentID == "" {
			return []change{{e.Who(), e.What, e.Time}}, nil
		}
	}
	return []change{{What: "It was changed", At: f.UpdatedAt}}, nil
}
