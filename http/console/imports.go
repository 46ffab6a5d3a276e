package console

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/http/console/upload"

	"github.com/gorilla/mux"
)

// formats is what GET /core/formats says of the files that can be imported.
type formats struct {
	Formats []struct {
		Extension string `json:"extension"`
	} `json:"formats"`
	FileBytes   int64  `json:"file_bytes"`
	Files       int    `json:"files"`
	UploadBytes int64  `json:"upload_bytes"`
	Inbox       string `json:"inbox"`
}

// Types returns the extensions, as the attribute accept of a field has them.
func (f formats) Types() string {
	all := make([]string, len(f.Formats))
	for i, one := range f.Formats {
		all[i] = one.Extension
	}
	return strings.Join(all, ", ")
}

// job is an import in a reply of the REST interface.
type job struct {
	ID         string    `json:"job_id"`
	Status     string    `json:"status"`
	Message    string    `json:"message"`
	Percent    float64   `json:"progress_percent"`
	Total      int       `json:"total_files"`
	Successful int       `json:"successful"`
	Failed     int       `json:"failed"`
	Done       bool      `json:"done"`
	CreatedAt  time.Time `json:"created_at"`
	Results    []file    `json:"results"`
}

// Ended returns how many files are neither waiting nor in progress.
func (j job) Ended() int { return j.Successful + j.Failed }

// Sentence says what has become of the job.
func (j job) Sentence() string {
	switch {
	case !j.Done && j.Ended() == j.Total && j.Total > 0:
		return "All files are read. Search finds them in a moment."
	case !j.Done:
		return fmt.Sprintf("%d of %d files done", j.Ended(), j.Total)
	case j.Message == "":
		return "Done"
	}
	return capitalized(j.Message)
}

// Mood returns the class of the sentence: bad if no file was imported, warn if some failed.
func (j job) Mood() string {
	switch {
	case !j.Done:
		return ""
	case j.Successful == 0:
		return "bad"
	case j.Failed > 0:
		return "warn"
	}
	return "good"
}

// file is a file of an import.
type file struct {
	Name      string   `json:"filename"`
	Success   bool     `json:"success"`
	Folder    string   `json:"folder_name"`
	Document  string   `json:"document_id"`
	Title     string   `json:"title"`
	Error     string   `json:"error"`
	Warnings  []string `json:"warnings"`
	Duplicate bool     `json:"duplicate"`
	Outcome   string   `json:"outcome"`
	Step      string   `json:"current_step"`
	Message   string   `json:"message"`

	Index int `json:"-"`
}

// Verdict says what the import of the file did.
func (f file) Verdict() string {
	switch {
	case f.Outcome == "updated":
		return "New version"
	case f.Outcome == "unchanged", f.Outcome == "" && f.Duplicate:
		return "Was here already"
	case f.Duplicate:
		return "Imported, though there is another document with the same content"
	}
	return "Imported"
}

// step is a step of the import of a file, in words of people, with the part of a bar that it
// takes.
type step struct {
	Words    string
	From, To int // percent
}

var steps = map[string]step{
	"reading":     {"Reading", 5, 35},
	"ocr":         {"Recognising text", 35, 80},
	"splitting":   {"Dividing into passages", 80, 80},
	"summarising": {"Summarising", 86, 86},
	"filing":      {"Filing", 93, 93},
	"indexing":    {"Making it findable", 97, 97},
}

// Progress returns the file's step in words, and how much of its bar is full.
func (f file) Progress() step {
	s, known := steps[f.Step]
	switch {
	case !known:
		return step{Words: "Waiting"}
	case f.Step == "ocr" && f.Message == "":
		s.Words = "Waiting until its pages can be recognised"
	case f.Message != "":
		s.Words += " " + f.Message
	}
	var page, pages int
	if n, _ := fmt.Sscanf(f.Message, "page %d of %d", &page, &pages); n == 2 && page > 0 && page <= pages {
		s.From += (s.To - s.From) * (page - 1) / pages
	}
	return s
}

// group is the files of an import that are in the same state, or a page of them.
type group struct {
	Name  string // in addresses
	Count int
	Files []file
	Next  string // address of the next page
}

// imported is the content of the page of an import.
type imported struct {
	job
	Shown  string // the group that is shown alone; "" for the first files of all
	Groups []group
	Steps  map[string]step
}

// Maximum number of files of a group that are shown in the page of an import, and in a page
// of the group alone. More would make the page slow.
const (
	firstFiles = 100
	moreFiles  = 500
)

// showImport shows an import.
func (c *Console) showImport(v *visit) error {
	p := imported{Shown: v.URL.Query().Get("show"), Steps: steps}
	p.ID = mux.Vars(v.Request)["id"]
	if err := v.get("/core/jobs/"+p.ID, nil, &p.job); err != nil {
		return err
	}
	from, err := strconv.Atoi(cmp.Or(v.URL.Query().Get("from"), "0"))
	if err != nil || from < 0 || p.Shown == "" {
		from = 0
	}
	of := map[string][]file{}
	for i, f := range p.Results {
		f.Index = i
		name := "waiting"
		switch {
		case f.Success:
			name = "done"
		case f.Error != "":
			name = "failed"
		case f.Step != "":
			name = "running"
		}
		of[name] = append(of[name], f)
	}
	for _, name := range []string{"failed", "running", "waiting", "done"} {
		all, most := of[name], firstFiles
		if p.Shown != "" {
			most = moreFiles
			if p.Shown != name {
				continue
			}
		}
		g := group{Name: name, Count: len(all), Files: all[min(from, len(all)):min(from+most, len(all))]}
		if to := from + most; p.Shown != "" && to < len(all) {
			g.Next = "?" + url.Values{"show": {name}, "from": {strconv.Itoa(to)}}.Encode()
		} else if p.Shown == "" && most < len(all) {
			g.Next = "?show=" + name
		}
		p.Groups = append(p.Groups, g)
	}
	p.Results = nil
	c.show(v, http.StatusOK, "import", page{Title: "Import", Section: "import", Scripts: []string{"import.js"}, Content: p})
	return nil
}

// importing is the content of the page of the form.
type importing struct {
	Key          string // of the upload, so that the form has one effect however often it is sent
	Folder, Tags string
	Problem      string
	Formats      formats
	Jobs         []job
	Next         string // address of the next page of jobs
	Running      bool
}

// askImport shows the form for imports, and the last imports.
func (c *Console) askImport(v *visit) error {
	q := v.URL.Query()
	return c.showImports(v, http.StatusOK, importing{Folder: q.Get("folder"), Tags: q.Get("tags")})
}

func (c *Console) showImports(v *visit, status int, p importing) error {
	p.Key = rand.Text()
	if err := v.get("/core/formats", nil, &p.Formats); err != nil {
		return err
	}
	var last struct {
		Jobs []job  `json:"jobs"`
		Next string `json:"next_cursor"`
	}
	page20 := url.Values{}
	if cursor := v.URL.Query().Get("cursor"); cursor != "" {
		page20.Set("cursor", cursor)
	}
	if err := v.get("/core/jobs", page20, &last); err != nil {
		return err
	}
	p.Jobs, p.Running = last.Jobs, slices.ContainsFunc(last.Jobs, func(j job) bool { return !j.Done })
	if last.Next != "" {
		p.Next = "/import?" + url.Values{"cursor": {last.Next}}.Encode()
	}
	c.show(v, status, "imports", page{Title: "Import", Section: "import", Scripts: []string{"import.js"}, Content: p})
	return nil
}

// importFiles hands the files of a form through to POST /core/ingest as they arrive, and then
// shows their import.
func (c *Console) importFiles(v *visit) error {
	if v.parts == nil {
		return &problem{Status: http.StatusBadRequest, Sentence: "The form has no files. Choose some, and send it again."}
	}
	in, out := io.Pipe()
	body := multipart.NewWriter(out)
	u := upload.New(v.parts, body)
	key, err := u.Key()
	if err != nil {
		return errFormUnread
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		out.CloseWithError(u.Run(func() (string, error) {
			var f formats
			err := v.get("/core/formats", nil, &f)
			return f.Inbox, err
		}))
	}()
	var j job
	_, err = v.send(v.Context(), call{method: "POST", path: "/core/ingest", body: in, kind: body.FormDataContentType(), key: key}, &j)
	in.CloseWithError(errNotWanted)
	<-ended // u is used below, and the request after this handler
	var p *problem
	switch {
	case errors.Is(u.Err, upload.ErrTooLong):
		p = &problem{Status: http.StatusRequestEntityTooLarge, Sentence: "The folder or the tags are too long."}
	case errors.As(u.Err, &p):
	case u.Files == 0 && u.Err == nil:
		p = &problem{Status: http.StatusUnprocessableEntity, Sentence: "Choose files or a folder first."}
	case errors.As(err, &p) && p.Status != http.StatusUnauthorized:
		if key != "" && bytes.Contains(p.Body, []byte(`"Idempotency-Key"`)) {
			p.Sentence = "This form has already sent other files, which are imported. Choose your files again, and send them with the form below."
		}
	case err != nil:
		return err
	default:
		redirect(v.w, "/import/"+j.ID)
		return nil
	}
	return c.showImports(v, p.Status, importing{Folder: u.Folder, Tags: u.Tags, Problem: p.Sentence})
}

var errNotWanted = errors.New("the rest of the upload is not wanted")
