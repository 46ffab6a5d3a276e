package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/http/console/trail"
	"annals/http/console/worddiff"
)

const (
	// listedVersions is the number of versions of a document that its page lists.
	listedVersions = 50
	// maxCompareTime is the time after which a comparison of texts ends with what it has found.
	maxCompareTime = 8 * time.Second
	// maxComparing is the number of comparisons at a time. Each has up to maxCompared bytes in
	// memory.
	maxComparing = 2
	// maxCompared is the maximum length of a compressed text that is compared. Longer texts are
	// compared up to there.
	maxCompared = 32 << 20
)

// versionEntry is a version of a document in a reply of the REST interface.
type versionEntry struct {
	Version     int       `json:"version"`
	CreatedAt   time.Time `json:"createdAt"`
	CreatedBy   string    `json:"createdBy"`
	Change      string    `json:"change"`
	Name        string    `json:"name"`
	ContentType string    `json:"contentType"`
	Size        int64     `json:"size"`
	SHA256      string    `json:"sha256"`
	Folder      string    `json:"folderId"` // "" if the visitor may not read it
	Tags        []string  `json:"tags"`
}

// Who returns the name of the user who made the version.
func (e versionEntry) Who() string { return trail.NameOf(e.CreatedBy) }

// hasNewText reports whether the version has another text than the one before, or may have.
func (e versionEntry) hasNewText() bool {
	return slices.ContainsFunc(strings.Split(e.Change, ", "), func(change string) bool { return change == "imported" || change == "revised" || change == "reread" })
}

// hasPages reports whether pages of the version can be shown.
func (e versionEntry) hasPages() bool {
	return e.ContentType == "application/pdf" || strings.HasPrefix(e.ContentType, "image/") && e.ContentType != "image/svg+xml"
}

// shownVersion is a version as people see it.
type shownVersion struct {
	versionEntry
	Changes  []versionChange
	Current  bool
	Original string // address of the stored file
	View     string // address of the page that shows it
	Compare  string // address of the difference to the version before, "" if it has the same text
}

// versionChange is something that a version has changed: What, from Old to New.
type versionChange struct{ What, Old, New string }

// documentVersions is the content of the page of a document's versions.
type documentVersions struct {
	Document     documentEntry
	Crumbs       []crumb
	Versions     []shownVersion // newest first
	Choices      []versionEntry // that can be compared; nil if there is only one
	Older, First string         // addresses of other versions
	Difference   *difference
	From, To     int
}

// difference is the difference of two versions.
type difference struct {
	worddiff.Result
	Old, New shownVersion
	Changes  []versionChange // of other things than the text
	SameText bool
	Shown    []shownChange
}

// shownChange is a place at which two texts differ.
type shownChange struct {
	worddiff.Change
	Old, New string // addresses of the pages, or ""
}

// versions shows the versions of a document and the difference of two of them.
func (c *Console) versions(v *visit) error {
	d, err := v.document(v.id())
	if err != nil {
		return err
	}
	var all []versionEntry // oldest first
	if err := v.get("/vault/documents/"+d.ID+"/versions", nil, &all); err != nil {
		return err
	}
	p := documentVersions{Document: d}
	if p.Crumbs, err = v.wayTo(d, crumb{Name: "History"}); err != nil {
		return err
	}
	names := folderNames{v, map[string]string{}}
	if err := p.list(v.URL.Query().Get("before"), all, names); err != nil {
		return err
	}
	if err := c.compareVersions(v, &p, all, names); err != nil {
		return err
	}
	c.show(v, http.StatusOK, "history_document", page{Title: "History of " + d.Name, Section: "folders", Content: p})
	return nil
}

// wayTo returns the way down to a page of a document.
func (v *visit) wayTo(d documentEntry, last crumb) ([]crumb, error) {
	var way []folderEntry
	if d.Folder != "" {
		f, _, err := v.folder(d.Folder)
		if err != nil {
			return nil, err
		}
		if way, err = v.above(f); err != nil {
			return nil, err
		}
		way = append(way, f)
	}
	return append(crumbsOf(way), crumb{d.Name, d.URL()}, last), nil
}

// list adds the versions before one, or the last ones.
func (p *documentVersions) list(before string, all []versionEntry, names folderNames) error {
	end := len(all)
	if n, err := strconv.Atoi(before); err == nil {
		end, _ = slices.BinarySearchFunc(all, n, func(e versionEntry, n int) int { return e.Version - n })
		p.First = p.address(nil)
	}
	start := max(0, end-listedVersions)
	if start > 0 {
		p.Older = p.address(url.Values{"before": {strconv.Itoa(all[start].Version)}})
	}
	for i := end - 1; i >= start; i-- {
		shown, err := p.show(all, i, names)
		if err != nil {
			return err
		}
		p.Versions = append(p.Versions, shown)
	}
	if len(all) > 1 {
		p.Choices = slices.Clone(all[start:end])
		slices.Reverse(p.Choices)
	}
	return nil
}

// address returns the address of the page with parameters.
func (p *documentVersions) address(values url.Values) string {
	return p.Document.URL() + "/history?" + values.Encode()
}

// show returns a version as people see it.
func (p *documentVersions) show(all []versionEntry, i int, names folderNames) (shownVersion, error) {
	e := all[i]
	rest := fmt.Sprintf("%svault/documents/%s/versions/%d/", handThrough, p.Document.ID, e.Version)
	shown := shownVersion{versionEntry: e, Current: i == len(all)-1, Original: rest + "content", View: p.Document.URL() + "?version=" + strconv.Itoa(e.Version)}
	if i == 0 {
		shown.Changes = []versionChange{{What: "Imported as", New: e.Name}}
		return shown, nil
	}
	if e.hasNewText() {
		shown.Compare = p.address(url.Values{"from": {strconv.Itoa(all[i-1].Version)}, "to": {strconv.Itoa(e.Version)}}) + "#difference"
	}
	var err error
	shown.Changes, err = names.changes(all[i-1], e)
	if strings.Contains(e.Change, "reread") {
		shown.Changes = append(shown.Changes, versionChange{What: "Read again"})
	}
	return shown, err
}

// folderNames has the names of folders by their ids, "" for those that the visitor may not
// read.
type folderNames struct {
	v     *visit
	names map[string]string
}

func (f folderNames) of(id string) (string, error) {
	if name, known := f.names[id]; known || id == "" {
		return name, nil
	}
	var folder folderEntry
	if _, err := f.v.may("/vault/folders/"+id, nil, &folder); err != nil {
		return "", err
	}
	f.names[id] = folder.Name
	return folder.Name, nil
}

// changes returns what differs between two versions, besides the text.
func (f folderNames) changes(a, b versionEntry) (out []versionChange, err error) {
	if a.SHA256 != b.SHA256 {
		out = append(out, versionChange{"New content", sizeOf(a.Size), sizeOf(b.Size)})
	}
	if a.Name != b.Name {
		out = append(out, versionChange{"Renamed", a.Name, b.Name})
	}
	if a.Folder != b.Folder {
		moved := versionChange{What: "Moved"}
		if moved.Old, err = f.of(a.Folder); err != nil {
			return nil, err
		}
		if moved.New, err = f.of(b.Folder); err != nil {
			return nil, err
		}
		out = append(out, moved)
	}
	for _, t := range b.Tags {
		if !slices.Contains(a.Tags, t) {
			out = append(out, versionChange{What: "Tag added", New: t})
		}
	}
	for _, t := range a.Tags {
		if !slices.Contains(b.Tags, t) {
			out = append(out, versionChange{What: "Tag removed", New: t})
		}
	}
	return out, nil
}

// compareVersions adds the difference of the versions that the address of the page names.
func (c *Console) compareVersions(v *visit, p *documentVersions, all []versionEntry, names folderNames) error {
	q := v.URL.Query()
	if !q.Has("from") || !q.Has("to") {
		if n := len(p.Choices); n > 1 {
			p.From, p.To = p.Choices[1].Version, p.Choices[0].Version
		}
		return nil
	}
	p.From, _ = strconv.Atoi(q.Get("from")) // there is no version 0
	p.To, _ = strconv.Atoi(q.Get("to"))
	if p.From > p.To {
		p.From, p.To = p.To, p.From
	}
	find := func(n int) int { return slices.IndexFunc(all, func(e versionEntry) bool { return e.Version == n }) }
	from, to := find(p.From), find(p.To)
	if from < 0 || to < 0 {
		return &problem{Status: http.StatusNotFound, Sentence: "The document has no such version."}
	}
	d := &difference{SameText: !slices.ContainsFunc(all[from+1:to+1], versionEntry.hasNewText)}
	var err error
	if d.Old, err = p.show(all, from, names); err == nil {
		d.New, err = p.show(all, to, names)
	}
	if err == nil {
		d.Changes, err = names.changes(all[from], all[to])
	}
	if err == nil && !d.SameText {
		d.Result, err = c.compareTexts(v, p.Document.ID, p.From, p.To)
	}
	if err != nil {
		return err
	}
	for _, one := range d.Result.Changes {
		d.Shown = append(d.Shown, shownChange{one, d.Old.page(one.OldPage), d.New.page(one.NewPage)})
	}
	p.Difference = d
	return nil
}

// page returns the address of a page, or "".
func (s shownVersion) page(n int) string {
	if n == 0 || !s.hasPages() {
		return ""
	}
	return s.View + "&page=" + strconv.Itoa(n)
}

// compareTexts compares the texts of two versions.
func (c *Console) compareTexts(v *visit, document string, from, to int) (worddiff.Result, error) {
	select {
	case c.comparing <- struct{}{}:
		defer func() { <-c.comparing }()
	case <-time.After(maxCompareTime):
		return worddiff.Result{}, &problem{Status: http.StatusServiceUnavailable, Sentence: "Too many texts are being compared at the moment. Try again in a few seconds."}
	case <-v.Context().Done():
		return worddiff.Result{}, v.Context().Err()
	}
	ctx, cancel := context.WithTimeout(v.Context(), maxCompareTime)
	defer cancel()
	text := func(version int) string {
		return fmt.Sprintf("/vault/documents/%s/versions/%d/markdown", document, version)
	}
	// The first text is read to its end before the second is, because a user's reads may have
	// to wait for each other.
	old, cut, err := v.keep(ctx, text(from))
	if err != nil {
		return worddiff.Result{}, err
	}
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = writer.CloseWithError(v.receive(ctx, text(to), writer)) // nil is the end of the text
	}()
	result, err := worddiff.Compare(ctx, old, reader)
	_ = reader.Close() // which ends receive
	<-done
	result.Partial = result.Partial || cut
	return result, err
}

// errCut is returned by a writer that has got as much as it takes.
var errCut = errors.New("the text is too long")

// keep reads a text and keeps it in memory, compressed. cut reports that it is only the
// beginning.
func (v *visit) keep(ctx context.Context, path string) (text io.Reader, cut bool, err error) {
	var kept limited
	w, _ := gzip.NewWriterLevel(&kept, gzip.BestSpeed) // the level is valid
	err = v.receive(ctx, path, w)
	cut = errors.Is(err, errCut) || v.Context().Err() == nil && ctx.Err() != nil
	if err != nil && !cut {
		return nil, false, err
	}
	if !cut {
		cut = w.Close() != nil
	}
	if kept.Len() == 0 { // it was cut before anything was read
		return strings.NewReader(""), true, nil
	}
	r, err := gzip.NewReader(&kept.Buffer)
	if err != nil {
		return nil, false, err
	}
	if cut {
		return &untilCut{r}, true, nil
	}
	return r, false, nil
}

// limited keeps up to maxCompared bytes.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxCompared {
		return 0, errCut
	}
	return l.Buffer.Write(p)
}

// untilCut ends where a compressed text was cut.
type untilCut struct{ io.Reader }

func (u *untilCut) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
