package pdfium

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
)

// memoryEnv names the environment variable by which Readers tells a process
// how many bytes of memory it may hold.
const memoryEnv = "ANNALS_PDF_MEMORY"

// cacheEnv names the one that holds Config.CacheDir.
const cacheEnv = "ANNALS_PDF_CACHE"

// server answers requests.
type server struct {
	*engine
	*frames
	doc *document // the open file, or nil
	enc encoder
}

// Serve reads the files that in asks for, one after the other, and writes
// their pages to out. It is what a process started by Readers runs, and ends
// without an error when in does; should that happen in the middle of a file,
// the process exits, because nobody is left to end it. When ctx ends, so does
// Serve, and what it was answering is not said to be done. The compiled PDFium
// is kept in cacheDir or, where that is empty, in Config.CacheDir.
func Serve(ctx context.Context, in io.Reader, out io.Writer, cacheDir string) error {
	memory := int64(DefaultMemory)
	if n, err := strconv.ParseInt(os.Getenv(memoryEnv), 10, 64); err == nil && n > 0 {
		memory = n
	}
	if cacheDir == "" {
		cacheDir = os.Getenv(cacheEnv)
	}
	debug.SetMemoryLimit(memory)
	// PDFium's memory is copied when it grows, so that for a moment there are two.
	e, err := newEngine(cacheDir, max(memory-overhead, overhead)/2)
	if err != nil {
		return err
	}
	defer e.Close()
	s := &server{engine: e, frames: &frames{w: bufio.NewWriterSize(out, 64<<10)}}
	if err := s.write(readyFrame, nil); err != nil {
		return err
	}
	requests := make(chan request)
	var busy atomic.Bool
	failed := make(chan error, 1)
	go func() {
		defer close(requests)
		failed <- receive(ctx, in, requests)
		if busy.Load() {
			os.Exit(1)
		}
	}()
	for req := range requests {
		busy.Store(true)
		if err := s.serve(ctx, req); err != nil {
			return err
		}
		busy.Store(false)
	}
	return <-failed
}

// receive passes on the requests that it reads, until the end of in or ctx.
func receive(ctx context.Context, in io.Reader, requests chan<- request) error {
	f := &frames{r: bufio.NewReader(in)}
	for {
		k, payload, err := f.read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		req, err := decodeRequest(payload)
		if k != requestFrame || err != nil {
			return errors.New("reading a request: not a request")
		}
		select {
		case requests <- req:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// serve answers one request. An error ends the process.
func (s *server) serve(ctx context.Context, req request) error {
	switch {
	case req.path != "":
		if done, err := s.open(req); done || err != nil {
			return err
		}
	case req.first > 0:
		if err := s.read(ctx, req.first, req.last); err != nil {
			return err
		}
	default:
		if err := s.close(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil { // there may be pages missing
		return fmt.Errorf("answering a request: %w", err)
	}
	s.enc.b = s.enc.b[:0]
	s.enc.int(residentKiB())
	return s.write(doneFrame, s.enc.b)
}

// open opens a file. It reports whether it answered that this failed.
func (s *server) open(req request) (failed bool, err error) {
	if err := s.close(); err != nil {
		return false, err
	}
	doc, err := s.engine.open(req.path)
	var u unreadable
	if errors.As(err, &u) {
		return true, s.write(failedFrame, failure{text: string(u)}.encode())
	}
	if err != nil {
		s.write(failedFrame, failure{text: "the PDF is damaged in a way that stops its reading", fatal: true}.encode())
		return true, fmt.Errorf("opening %s: %w", req.path, err)
	}
	if req.maxPages > 0 && doc.pages > req.maxPages {
		text := fmt.Sprintf("the PDF has %d pages; the limit is %d", doc.pages, req.maxPages)
		return true, errors.Join(s.write(failedFrame, failure{text: text}.encode()), doc.close())
	}
	s.doc = doc
	if err := s.write(openedFrame, doc.describe().encode()); err != nil {
		return false, err
	}
	doc.forms = doc.form()
	return false, nil
}

// read sends pages of the open file.
func (s *server) read(ctx context.Context, first, last int) error {
	if s.doc == nil {
		return errors.New("pages were asked for before a file")
	}
	for n := first; n <= min(last, s.doc.pages) && ctx.Err() == nil; n++ {
		page, err := s.doc.page(n)
		s.enc.b = s.enc.b[:0]
		page.encode(&s.enc)
		if err := s.write(pageFrame, s.enc.b); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("reading page %d of the PDF: %w", n, err)
		}
	}
	return nil
}

// close closes the open file, if there is one.
func (s *server) close() error {
	doc := s.doc
	if doc == nil {
		return nil
	}
	s.doc = nil
	if err := doc.close(); err != nil {
		return fmt.Errorf("closing the PDF: %w", err)
	}
	return nil
}
