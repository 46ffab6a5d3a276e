package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// coreClient speaks the core's interface: what an import needs of it.
type coreClient struct{ restClient }

// importJob is the core's reply on an import job.
type importJob struct {
	ID         string         `json:"job_id"`
	Status     string         `json:"status"`
	Message    string         `json:"message"`
	Error      string         `json:"error"`
	Successful int            `json:"successful"`
	Failed     int            `json:"failed"`
	Done       bool           `json:"done"`
	Results    []importResult `json:"results"`
}

func (j importJob) finished() bool { return j.Done || j.Status == "complete" }

type importResult struct {
	Filename  string `json:"filename"`
	Success   bool   `json:"success"`
	Document  string `json:"document_id"`
	Error     string `json:"error"`
	Duplicate bool   `json:"duplicate"`
	Outcome   string `json:"outcome"`
}

// uploadEntry is what is said of a file.
type uploadEntry struct {
	Folder  string   `json:"folder_name"`
	Tags    []string `json:"tags,omitempty"`
	Replace bool     `json:"replace,omitempty"`
	Version int      `json:"version,omitempty"`
}

// upload uploads files, each as a document of its own, with what entry says of it. It
// returns the job that was made of them, and the SHA-256 of what was sent of each. A request whose reply was lost is repeated with the
// same key, so that it is the same job.
func (c *coreClient) upload(ctx context.Context, dir string, files []localFile, entry func(localFile) uploadEntry) (job importJob, sums []string, err error) {
	key := uuid.NewString()
	var sent *uploadBody
	job, err = c.callJob(ctx, patiently, func() (*http.Request, error) {
		body, contentType, err := newUploadBody(dir, files, entry)
		if err != nil {
			return nil, err
		}
		sent = body
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/ingest", body)
		if err == nil {
			r.Header.Set("Content-Type", contentType)
			r.Header.Set("Idempotency-Key", key)
			r.Header.Set("Expect", "100-continue") // a refused token costs no upload
		}
		return r, err
	})
	if err != nil {
		return job, nil, err
	}
	return job, sent.sent(), nil
}

// job asks how a job stands.
func (c *coreClient) job(ctx context.Context, id string) (importJob, error) {
	return c.callJob(ctx, patiently, c.jobRequest(ctx, id))
}

// reach asks for a job, to learn whether the server is there, takes the token
// and knows the job. It waits for a server that is starting, and not for one
// that does not answer at all.
func (c *coreClient) reach(ctx context.Context, id string) (known bool, err error) {
	_, err = c.callJob(ctx, !patiently, c.jobRequest(ctx, id))
	if isRefusal(err, http.StatusNotFound, http.StatusUnprocessableEntity) {
		return false, nil
	}
	return err == nil, err
}

func (c *coreClient) jobRequest(ctx context.Context, id string) func() (*http.Request, error) {
	return func() (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/jobs/"+url.PathEscape(id), nil)
	}
}

// callJob makes a request whose reply is a job.
func (c *coreClient) callJob(ctx context.Context, patient bool, request func() (*http.Request, error)) (job importJob, err error) {
	a, err := c.call(ctx, patient, request)
	if isRefusal(err, http.StatusNotFound) {
		err = fmt.Errorf("%w; --server is the URL of the core, such as http://127.0.0.1:8080/core", err)
	}
	if err != nil {
		return job, err
	}
	if err := a.decode(&job); err != nil {
		return job, err
	}
	if job.ID == "" {
		return job, fmt.Errorf("the reply of %s names no job: is it the address of the core?", a.url)
	}
	return job, nil
}

// uploadBody is a multipart body that opens one file at a time, when it is
// that file's turn.
type uploadBody struct {
	io.Reader
	open *os.File

	mu   sync.Mutex
	sums []string // of the files that were read to their ends
}

// sent returns the SHA-256 of each file, "" of those that were not read to the end.
func (b *uploadBody) sent() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sums)
}

// Close closes the file that is being read, if any.
func (b *uploadBody) Close() error {
	if b.open == nil {
		return nil
	}
	err := b.open.Close()
	b.open = nil
	return err
}

// newUploadBody returns the body that uploads files, and its content type.
// What is said of the files comes before them, so that the server can refuse
// without storing anything.
func newUploadBody(dir string, files []localFile, entry func(localFile) uploadEntry) (*uploadBody, string, error) {
	entries := make([]uploadEntry, len(files))
	for i, f := range files {
		entries[i] = entry(f)
	}
	metadata, err := json.Marshal(entries)
	if err != nil {
		return nil, "", err
	}
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	if err := form.WriteField("file_metadata", string(metadata)); err != nil {
		return nil, "", err
	}
	b := &uploadBody{sums: make([]string, len(files))}
	var parts []io.Reader
	for i, f := range files {
		if _, err := form.CreateFormFile("files", path.Base(f.Path)); err != nil {
			return nil, "", err
		}
		parts = append(parts, bytes.NewReader(bytes.Clone(frame.Bytes())), &filePart{body: b, dir: dir, file: f, place: i, hash: sha256.New()})
		frame.Reset()
	}
	if err := form.Close(); err != nil {
		return nil, "", err
	}
	b.Reader = io.MultiReader(append(parts, &frame)...)
	return b, form.FormDataContentType(), nil
}

// filePart reads a file as the part of an upload.
type filePart struct {
	body *uploadBody
	dir  string
	file localFile
	rest io.Reader

	place int // among the files of the body
	hash  hash.Hash
}

func (p *filePart) Read(b []byte) (int, error) {
	if p.rest == nil {
		if err := p.openFile(); err != nil {
			return 0, &fileError{p.file, err}
		}
	}
	n, err := p.rest.Read(b)
	p.hash.Write(b[:n])
	if err == io.EOF {
		p.body.mu.Lock()
		p.body.sums[p.place] = hex.EncodeToString(p.hash.Sum(nil))
		p.body.mu.Unlock()
		if err := p.body.Close(); err != nil {
			return n, &fileError{p.file, err}
		}
	} else if err != nil {
		err = &fileError{p.file, err}
	}
	return n, err
}

func (p *filePart) openFile() error {
	f, err := os.Open(filepath.Join(p.dir, filepath.FromSlash(p.file.Path)))
	if err != nil {
		return err
	}
	p.body.open = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p.rest = io.LimitReader(f, info.Size()) // a file that grows meanwhile would have no end
	return nil
}

// fileError is a local file that cannot be read.
type fileError struct {
	file localFile
	err  error
}

func (e *fileError) Error() string { return fmt.Sprintf("read %s: %v", e.file.Path, e.err) }
func (e *fileError) Unwrap() error { return e.err }
