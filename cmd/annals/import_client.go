package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// coreClient speaks the core's interface: what an import needs of it.
type coreClient struct {
	url   string // of the core, without a slash at the end
	http  *http.Client
	token tokenSource
	tries uint
	pause time.Duration // before the second try; rising from there
	tell  func(string)  // what is waited for, for the user
}

// tokenSource returns an ID token; a new one if the last was refused.
type tokenSource func(ctx context.Context, refused bool) (string, error)

// newHTTPClient has no limit on a whole request, since an upload may take
// long; its parts have.
func newHTTPClient(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   connections,
		ForceAttemptHTTP2:     true,
	}}
}

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
}

// refusal is a reply other than success.
type refusal struct {
	status int
	detail string
	after  time.Duration // when to try again, where the server said so
}

func (e *refusal) Error() string {
	if e.detail == "" {
		return fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
	}
	if e.status == http.StatusNotFound {
		return fmt.Sprintf("the server answers 404: %s; --server is the URL of the core, such as http://127.0.0.1:8080/core", e.detail)
	}
	return fmt.Sprintf("the server answers %d: %s", e.status, e.detail)
}

// Unwrap tells the loop of tries how long the server wants it to wait.
func (e *refusal) Unwrap() error {
	if e.after <= 0 {
		return nil
	}
	return &backoff.RetryAfterError{Duration: e.after}
}

// isRefusal reports whether err is a reply with one of the given statuses.
func isRefusal(err error, statuses ...int) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	return slices.Contains(statuses, r.status)
}

// ingest uploads files and returns the job that was made of them.
func (c *coreClient) ingest(ctx context.Context, dir, top string, tags []string, files []localFile) (importJob, error) {
	return c.call(ctx, patiently, func() (*http.Request, error) {
		body, contentType, err := newUploadBody(dir, top, tags, files)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/ingest", body)
		if err == nil {
			r.Header.Set("Content-Type", contentType)
			r.Header.Set("Expect", "100-continue") // a refused token costs no upload
		}
		return r, err
	})
}

// job asks how a job stands.
func (c *coreClient) job(ctx context.Context, id string) (importJob, error) {
	return c.call(ctx, patiently, c.jobRequest(ctx, id))
}

// reach asks for a job, to learn whether the server is there, takes the token
// and knows the job. It waits for a server that is starting, and not for one
// that does not answer at all.
func (c *coreClient) reach(ctx context.Context, id string) (known bool, err error) {
	_, err = c.call(ctx, !patiently, c.jobRequest(ctx, id))
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

// call makes a request, signs it, and tries again while the server or the
// network fails. Every request of this client may safely be made twice.
func (c *coreClient) call(ctx context.Context, patient bool, request func() (*http.Request, error)) (importJob, error) {
	intervals := backoff.NewExponentialBackOff()
	intervals.InitialInterval, intervals.MaxInterval = c.pause, 30*time.Second
	return backoff.Retry(ctx, func() (importJob, error) {
		job, err := c.signed(ctx, request)
		if isRetryable(ctx, err, patient) {
			return job, err
		}
		return job, backoff.Permanent(err)
	}, backoff.WithBackOff(intervals), backoff.WithMaxTries(c.tries), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // which request it was tells the user nothing
		}
		c.tell(fmt.Sprintf("waiting for the server: %v; trying again in %s", err, wait.Round(100*time.Millisecond)))
	}))
}

// patiently is how requests are made once it is known that the server is
// there.
const patiently = true

// isRetryable reports whether a second try may mend err.
func isRetryable(ctx context.Context, err error, patient bool) bool {
	var f *fileError
	var u *url.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &f):
		return false
	case isRefusal(err, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout):
		return true
	}
	return patient && errors.As(err, &u)
}

// signed makes a request with a token, and once more with a new one if that
// was refused.
func (c *coreClient) signed(ctx context.Context, request func() (*http.Request, error)) (job importJob, err error) {
	for _, refused := range []bool{false, true} {
		var token string
		if token, err = c.token(ctx, refused); err != nil {
			return job, err
		}
		r, err := request()
		if err != nil {
			return job, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		job, err = c.do(r)
		if refused || !isRefusal(err, http.StatusUnauthorized) {
			return job, err
		}
	}
	return job, err
}

func (c *coreClient) do(r *http.Request) (job importJob, err error) {
	reply, err := c.http.Do(r)
	if err != nil {
		return job, err
	}
	defer reply.Body.Close()
	const most = 64 << 20
	body, err := io.ReadAll(io.LimitReader(reply.Body, most))
	if err != nil {
		return job, &url.Error{Op: "read the reply of", URL: r.URL.String(), Err: err}
	}
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusAccepted {
		return job, newRefusal(reply, body)
	}
	if err := json.Unmarshal(body, &job); err != nil {
		return job, fmt.Errorf("read the reply of %s: %w", r.URL, err)
	}
	if job.ID == "" {
		return job, fmt.Errorf("the reply of %s names no job: is it the address of the core?", r.URL)
	}
	return job, nil
}

func newRefusal(reply *http.Response, body []byte) *refusal {
	e := &refusal{status: reply.StatusCode}
	if s, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = min(time.Duration(s)*time.Second, time.Minute)
	}
	var text struct{ Detail string }
	var list struct {
		Detail []struct{ Msg string }
	}
	switch {
	case json.Unmarshal(body, &text) == nil:
		e.detail = text.Detail
	case json.Unmarshal(body, &list) == nil:
		var all []string
		for _, d := range list.Detail {
			all = append(all, d.Msg)
		}
		e.detail = strings.Join(all, "; ")
	}
	return e
}

// uploadBody is a multipart body that opens one file at a time, when it is
// that file's turn.
type uploadBody struct {
	io.Reader
	open *os.File
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
func newUploadBody(dir, top string, tags []string, files []localFile) (*uploadBody, string, error) {
	type entry struct {
		Folder string   `json:"folder_name"`
		Tags   []string `json:"tags,omitempty"`
	}
	entries := make([]entry, len(files))
	for i, f := range files {
		entries[i] = entry{folderOf(top, f), tags}
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
	b := new(uploadBody)
	var parts []io.Reader
	for _, f := range files {
		if _, err := form.CreateFormFile("files", path.Base(f.Path)); err != nil {
			return nil, "", err
		}
		parts = append(parts, bytes.NewReader(bytes.Clone(frame.Bytes())), &filePart{body: b, dir: dir, file: f})
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
}

func (p *filePart) Read(b []byte) (int, error) {
	if p.rest == nil {
		if err := p.openFile(); err != nil {
			return 0, &fileError{p.file, err}
		}
	}
	n, err := p.rest.Read(b)
	if err == io.EOF {
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
