package client

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
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// File is a local file to upload, and how to import it.
type File struct {
	Path    string   `json:"-"` // on this machine; its last element becomes the name of the document
	Folder  string   `json:"folder_name"`
	Tags    []string `json:"tags,omitempty"`
	Replace bool     `json:"replace,omitempty"` // replace the document of the same name, if there is one
	Version int      `json:"version,omitempty"` // required version of the replaced document; 0 means any
}

// FileError is the error for a local file that cannot be read.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("read %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Upload uploads files in one request. It returns the job that imports them, and the
// SHA-256 of the bytes sent for each file. All retries have the same idempotency key,
// so that no second job is created if a reply was lost.
func (c *Core) Upload(ctx context.Context, files []File) (job Job, sums []string, err error) {
	key := uuid.NewString()
	var sent *uploadBody
	job, err = readJob(c.Do(ctx, func() (*http.Request, error) {
		body, contentType, err := newUploadBody(files)
		if err != nil {
			return nil, err
		}
		sent = body
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/ingest", body)
		if err == nil {
			r.Header.Set("Content-Type", contentType)
			r.Header.Set("Idempotency-Key", key)
			r.Header.Set("Expect", "100-continue") // lets the server reject an invalid token before the body is sent
		}
		return r, err
	}))
	if err != nil {
		return job, nil, err
	}
	return job, sent.hashes(), nil
}

// uploadBody is a multipart body that opens its files one after another.
type uploadBody struct {
	io.Reader
	open *os.File

	mu   sync.Mutex // guards sums, because the transport may still read the body after the reply arrived
	sums []string   // SHA-256 of each file; "" if the file was not read to its end
}

func (b *uploadBody) hashes() []string {
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

// newUploadBody returns a multipart body for files, and its content type. The metadata
// of all files comes first, so that the server can reject the request before it stores
// a file.
func newUploadBody(files []File) (*uploadBody, string, error) {
	metadata, err := json.Marshal(files)
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
		if _, err := form.CreateFormFile("files", filepath.Base(f.Path)); err != nil {
			return nil, "", err
		}
		parts = append(parts, bytes.NewReader(bytes.Clone(frame.Bytes())), &filePart{body: b, index: i, path: f.Path, hash: sha256.New()})
		frame.Reset()
	}
	if err := form.Close(); err != nil {
		return nil, "", err
	}
	b.Reader = io.MultiReader(append(parts, &frame)...)
	return b, form.FormDataContentType(), nil
}

// filePart reads one file of an upload.
type filePart struct {
	body    *uploadBody
	index   int // of the file in the body
	path    string
	hash    hash.Hash
	content io.Reader // nil until the file is opened
}

func (p *filePart) Read(b []byte) (int, error) {
	if p.content == nil {
		if err := p.openFile(); err != nil {
			return 0, &FileError{p.path, err}
		}
	}
	n, err := p.content.Read(b)
	p.hash.Write(b[:n])
	if err == io.EOF {
		p.body.mu.Lock()
		p.body.sums[p.index] = hex.EncodeToString(p.hash.Sum(nil))
		p.body.mu.Unlock()
		if err := p.body.Close(); err != nil {
			return n, &FileError{p.path, err}
		}
	} else if err != nil {
		err = &FileError{p.path, err}
	}
	return n, err
}

func (p *filePart) openFile() error {
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	p.body.open = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p.content = io.LimitReader(f, info.Size()) // if the file grows, its upload would otherwise never end
	return nil
}
