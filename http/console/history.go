package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"annals/http/console/about"
)

// auditEntry is an entry of the audit trail in a reply of the REST interface.
type auditEntry struct {
	ID            string    `json:"id"`
	Time          time.Time `json:"time"`
	Actor         string    `json:"actor"`
	Via           string    `json:"via"`
	CorrelationID string    `json:"correlationId"`
	Type          string    `json:"type"`
	What          string    `json:"what"`
	DocumentID    string    `json:"documentId"`
	DocumentName  string    `json:"documentName"`
	FolderID      string    `json:"folderId"`
	FolderName    string    `json:"folderName"`
	JobID         string    `json:"jobId"`
	Address       string    `json:"address"`
	Count         int       `json:"count"`
}

// Who returns the name of the user who did it.
func (e auditEntry) Who() string {
	if e.Actor == "" {
		return "The service"
	}
	return nameOf(e.Actor)
}

// Sentence returns what was done as three parts: the text before the name of the document or
// folder, that name, and the text after it. The name is "" if the entry links to nothing.
func (e auditEntry) Sentence() (parts [3]string) {
	name := e.DocumentName
	if name == "" {
		name = e.FolderName
	}
	if e.Link() != "" && name != "" {
		if before, after, found := strings.Cut(e.What, `"`+name+`"`); found {
			return [3]string{before, name, after}
		}
	}
	return [3]string{e.What}
}

// Link returns the address of what the entry is about, or "".
func (e auditEntry) Link() string {
	switch {
	case strings.HasSuffix(e.Type, "Deleted"):
		return ""
	case e.DocumentID != "":
		return "/documents/" + e.DocumentID
	case e.FolderID != "":
		return "/folders/" + e.FolderID
	}
	return ""
}

// nameOf returns the name of a user or group without the prefix of its kind.
func nameOf(principal string) string {
	if _, name, found := strings.Cut(principal, ":"); found {
		return name
	}
	return principal
}

// auditDay is the entries of a day.
type auditDay struct {
	Date    time.Time
	Entries []auditEntry
}

// trail is the content of the page of the audit trail.
type trail struct {
	Who, From, To, Kind string
	Document, Folder    string // ids
	Days                []auditDay
	Next                string // address of the next page
	Filtered            bool
	About               string        // the name of that document or folder, or what was typed
	Which               []about.Thing // what has that name, if it is not one thing
	More                bool          // there are others
}

// history shows the audit trail.
func (c *Console) history(v *visit) error {
	q := v.URL.Query()
	t := trail{Who: strings.TrimSpace(q.Get("who")), From: q.Get("from"), To: q.Get("to"), Kind: q.Get("kind"), Document: q.Get("document"), Folder: q.Get("folder")}
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
	var entries []auditEntry
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
		if n := len(t.Days); n == 0 || t.Days[n-1].Date.Format(time.DateOnly) != e.Time.UTC().Format(time.DateOnly) {
			t.Days = append(t.Days, auditDay{Date: e.Time.UTC()})
		}
		day := &t.Days[len(t.Days)-1]
		day.Entries = append(day.Entries, e)
	}
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
func (t trail) Of(thing about.Thing) string {
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
