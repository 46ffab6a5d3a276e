package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"annals/http/console/about"
	"annals/http/console/trail"
)

// historyPage is the content of the page of the audit trail.
type historyPage struct {
	Who, From, To, Kind string
	Document, Folder    string // ids
	Days                []trail.Day
	Next                string // address of the next page
	Filtered            bool
	About               string        // the name of that document or folder, or what was typed
	Which               []about.Thing // what has that name, if it is not one thing
	More                bool          // there are others
}

// history shows the audit trail.
func (c *Console) history(v *visit) error {
	q := v.URL.Query()
	t := historyPage{Who: strings.TrimSpace(q.Get("who")), From: q.Get("from"), To: q.Get("to"), Kind: q.Get("kind"), Document: q.Get("document"), Folder: q.Get("folder")}
	if t.About = strings.TrimSpace(q.Get("about")); t.About != "" {
		found, more, err := about.Find(v.get, t.About)
		if err != nil {
			return err
		}
		if q.Del("about"); len(found) == 1 {
			redirect(v.w, historyOf(q, found[0])) // to an address without words
			return nil
		}
		t.Which, t.More, t.Filtered = found, more, true
		c.show(v, http.StatusOK, "history", page{Title: "History", Section: "history", Content: t})
		return nil
	}
	t.Filtered = t.Who+t.From+t.To+t.Document+t.Folder != ""
	filter := url.Values{}
	for name, value := range map[string]string{"from": t.From, "kind": t.Kind, "document": t.Document, "folder": t.Folder, "cursor": q.Get("cursor")} {
		if value != "" {
			filter.Set(name, value)
		}
	}
	if t.Who != "" {
		filter.Set("actor", "user:"+strings.TrimPrefix(t.Who, "user:"))
	}
	if day, err := time.Parse(time.DateOnly, t.To); err == nil {
		filter.Set("to", day.AddDate(0, 0, 1).Format(time.DateOnly)) // people mean the end of that day
	} else if t.To != "" {
		filter.Set("to", t.To) // the REST interface accepts times, and refuses others
	}
	var entries []trail.Entry
	header, err := v.send(v.Context(), call{method: "GET", path: "/vault/audit", query: filter}, &entries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch { // the document itself is not read, because the access log would say so
		case e.DocumentID != "" && e.DocumentID == t.Document:
			t.About = cmp.Or(t.About, e.DocumentName)
		case e.FolderID != "" && e.FolderID == t.Folder:
			t.About = cmp.Or(t.About, e.FolderName)
		}
	}
	t.Days = trail.ByDay(entries)
	if cursor := nextCursor(header); cursor != "" {
		q.Set("cursor", cursor)
		t.Next = "/history?" + q.Encode()
	}
	c.show(v, http.StatusOK, "history", page{Title: "History", Section: "history", Scripts: []string{"history.js"}, Content: t})
	return nil
}

// historyOf returns the address of the history of a thing, with the other filters of a form.
func historyOf(q url.Values, thing about.Thing) string {
	all := url.Values{thing.Kind: {thing.ID}}
	for _, name := range []string{"who", "from", "to", "kind"} {
		if value := q.Get(name); value != "" {
			all.Set(name, value)
		}
	}
	return "/history?" + all.Encode()
}

// Of returns the address of the history of one of the things that have the name that was typed.
func (t historyPage) Of(thing about.Thing) string {
	return historyOf(url.Values{"who": {t.Who}, "from": {t.From}, "to": {t.To}, "kind": {t.Kind}}, thing)
}

// nextCursor returns the cursor of the next page of a listing of the vault, or "".
func nextCursor(header http.Header) string {
	for _, link := range header.Values("Link") {
		address, rest, found := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if u, err := url.Parse(address); found && err == nil && strings.Contains(rest, `rel="next"`) {
			return u.Query().Get("cursor")
		}
	}
	return ""
}
