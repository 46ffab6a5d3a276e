package pdfium

import (
	"errors"
	"fmt"

	"annals/commands/importer/extract/process"
)

// maxPageBytes limits the text of a page. A page with more text is truncated and marked as
// broken.
const maxPageBytes = 4 << 20

// server handles requests.
type server struct {
	*engine
	limit int64 // of this process's memory, in bytes
	conn  *process.Server
	doc   *document // the open file, or nil
	enc   process.Encoder
}

// Serve runs in a process that Readers started. It reads files and sends their pages until the
// connection is closed. It limits the memory of the process to memory bytes, and loads the
// compiled PDFium from cacheDir.
func Serve(memory int64, cacheDir string) error {
	if memory <= 0 {
		memory = DefaultMemory
	}
	s := &server{limit: memory}
	defer func() {
		if s.engine != nil {
			s.Close()
		}
	}()
	prepare := func() (reserved int64, err error) {
		if s.engine, err = newEngine(cacheDir, memoryOfPDFium(memory)); err != nil {
			return 0, err
		}
		return s.engine.reserve(memoryOfPDFium(memory))
	}
	return process.Serve(memory, prepare, func(conn *process.Server, f process.Frame) error {
		s.conn = conn
		req, err := decodeRequest(f.Payload)
		if f.Kind != requestFrame || err != nil {
			return errors.New("read a request: unexpected frame")
		}
		return s.respond(req)
	})
}

// Compile compiles PDFium and stores the code in cacheDir. It needs more memory than Serve.
func Compile(cacheDir string) error {
	e, err := newEngine(cacheDir, overhead)
	if err != nil {
		return err
	}
	return e.Close()
}

// respond handles a request. An error makes the process exit.
func (s *server) respond(req request) error {
	switch {
	case req.open:
		if done, err := s.open(req); done || err != nil {
			return err
		}
	case req.first > 0:
		if err := s.read(req.first, req.last, req.scans); err != nil {
			return err
		}
	case req.draw.Page > 0:
		err := s.draw(req.draw)
		var u unreadable
		if errors.As(err, &u) {
			return s.fail(failure{text: string(u)})
		}
		if err != nil {
			return err
		}
	default:
		if err := s.close(); err != nil {
			return err
		}
	}
	return s.conn.Send(doneFrame, nil, nil)
}

func (s *server) fail(f failure) error { return s.conn.Send(failedFrame, f.encode(), nil) }

// open opens a file. If it has sent a failure as the response, failed is true.
func (s *server) open(req request) (failed bool, err error) {
	if err := s.close(); err != nil {
		return false, err
	}
	file, err := s.conn.File(req.path)
	if err != nil {
		return false, err
	}
	doc, err := s.engine.open(file)
	var u unreadable
	if errors.As(err, &u) {
		return true, s.fail(failure{text: string(u)})
	}
	if err != nil {
		s.fail(failure{text: "the PDF is damaged or needs more memory than " + (&Config{Memory: s.limit}).memoryText(), fatal: true})
		return true, fmt.Errorf("open the PDF: %w", err)
	}
	if req.maxPages > 0 && doc.pages > req.maxPages {
		text := fmt.Sprintf("the PDF has %d pages, and the limit is %d (--max-pages): split it, and upload the parts", doc.pages, req.maxPages)
		return true, errors.Join(s.fail(failure{text: text}), doc.close())
	}
	s.doc = doc
	description := Document{Pages: doc.pages}
	if !req.bare {
		description = doc.describe()
	}
	if err := s.conn.Send(openedFrame, description.Encode(), nil); err != nil {
		return false, err
	}
	doc.forms = doc.form()
	return false, nil
}

// read sends pages of the open file. If scans is set, a scanned page is the last one.
func (s *server) read(first, last int, scans bool) error {
	if s.doc == nil {
		return errors.New("read pages: no file is open")
	}
	for n := first; n <= min(last, s.doc.pages); n++ {
		page, err := s.doc.page(n)
		page.truncate()
		s.enc.B = s.enc.B[:0]
		page.Encode(&s.enc)
		if err := s.conn.Send(pageFrame, s.enc.B, nil); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("read page %d of the PDF: %w", n, err)
		}
		if scans && page.Scanned {
			return nil
		}
	}
	return nil
}

// truncate truncates a page to maxPageBytes.
func (p *Page) truncate() {
	left := maxPageBytes
	for i, l := range p.Lines {
		if left -= len(l.Text) + 32 + 20*len(l.Words); left < 0 {
			p.Lines, p.Notes, p.Broken = p.Lines[:i], nil, true
			return
		}
	}
	for i, n := range p.Notes {
		if left -= len(n) + 8; left < 0 {
			p.Notes, p.Broken = p.Notes[:i], true
			return
		}
	}
}

// close closes the open file, if there is one.
func (s *server) close() error {
	doc := s.doc
	if doc == nil {
		return nil
	}
	s.doc = nil
	if err := doc.close(); err != nil {
		return fmt.Errorf("close the PDF: %w", err)
	}
	return nil
}
