package reader

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/sandbox"
	"annals/events/fault"
)

// OCR configures how text is recognised in the pictures of scanned pages.
type OCR struct {
	// Program recognises the text. If it is nil, scanned pages stay unread.
	Program *ocr.Program
	// Missing says what the operator can do if Program is nil, such as "install Tesseract". It
	// becomes part of a warning.
	Missing  string
	PageTime time.Duration // maximum CPU time for a page; default a minute
	Time     time.Duration // maximum time for a file, added up over its pages: of drawing them, and CPU time of recognising them; default an hour
	// Cache keeps the recognised text of pages. Without it, a file whose reading is interrupted is
	// recognised from its beginning again.
	Cache PageCache
	// Logger logs faults of the service, of which owners of files see no details; slog.Default()
	// if nil.
	Logger *slog.Logger
}

// PageCache keeps what was recognised, by the SHA-256 hash of the file and a name. It may forget
// anything. It is safe for concurrent use.
type PageCache interface {
	Get(sha256, name string) ([]byte, bool)
	Put(sha256, name string, value []byte) error
}

// recogniser recognises the scanned pages of all files of a Reader.
type recogniser struct {
	OCR
	engine *ocr.Engine

	// Pages that are being recognised are finished even if reading their file was suspended,
	// so that the file continues there.
	running context.Context
	stop    context.CancelFunc
	pages   sync.WaitGroup
}

func newRecogniser(o OCR, command []string, workers int) *recogniser {
	if o.Program == nil {
		return &recogniser{OCR: o, stop: func() {}}
	}
	o.PageTime, o.Time = cmp.Or(o.PageTime, time.Minute), cmp.Or(o.Time, time.Hour)
	r := &recogniser{OCR: o, engine: ocr.New(ocr.Config{Command: command, Program: o.Program, Processes: workers, PageTime: o.PageTime})}
	r.running, r.stop = context.WithCancel(context.Background())
	return r
}

func (r *recogniser) close() error {
	r.stop()
	r.pages.Wait()
	if r.engine == nil {
		return nil
	}
	return r.engine.Close()
}

// scanner recognises the scanned pages of one file.
type scanner struct {
	*recogniser
	file     *os.File
	source   *pdfium.Readers // reads its pages
	pages    int             // of the file
	progress extract.Progress

	hashed sync.Once
	hash   string // of the file; key computes it if it is not known, and "" means that it cannot be read

	mu     sync.Mutex
	spent  time.Duration // on drawing and recognising pages, added up over them
	open   int           // pages that are waited for
	since  time.Time     // since when pages are waited for, if open is not 0
	waits  time.Duration // for how long pages were waited for before
	last   int           // number of the last page whose recognition has begun
	failed error         // why the first page of those that failed was not recognised
	losses int           // number of pages that failed
}

// waited returns for how long pages have been waited for so far.
func (s *scanner) waited() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open > 0 {
		return s.waits + time.Since(s.since)
	}
	return s.waits
}

// passed reports whether recognition has not reached a page yet.
func (s *scanner) passed(page int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return page > s.last
}

// warnings says why pages were not recognised.
func (s *scanner) warnings(unread int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case unread == 0:
		return nil
	case s.engine == nil && s.Missing != "":
		return []string{"Text in pictures is not recognised by this server: " + s.Missing + "."}
	case s.failed != nil:
		return []string{fmt.Sprintf("Recognising text failed on %d of the pages: %s.", s.losses, s.failed)}
	}
	return nil
}

// scan is a pdfium.Scan.
func (s *scanner) scan(ctx context.Context, payload []byte, draw pdfium.Draw) (<-chan []byte, error) {
	result := make(chan []byte, 1)
	page, err := pdfium.DecodePage(payload)
	if err != nil || s.engine == nil || !(page.Width > 0 && page.Height > 0) {
		result <- payload // a malformed page is refused where it is laid out
		return result, nil
	}
	key := s.key(page.Number)
	if kept, ok := s.kept(key); ok {
		result <- encodePage(recognised(page, kept))
		return result, nil
	}
	s.begin(page.Number)
	slot, picture, err := s.draw(ctx, page, draw)
	if err != nil {
		s.end()
		if ctx.Err() != nil || fault.Is(err, fault.Unavailable) {
			return nil, err
		}
		s.fail(err)
		result <- payload
		return result, nil
	}
	s.recogniser.pages.Go(func() {
		defer slot.Release()
		found, used, err := slot.Recognise(s.running, pictureOf(page, picture))
		s.took(used)
		s.end()
		if err != nil {
			s.fail(err)
			result <- payload
			return
		}
		s.keep(key, found)
		result <- encodePage(recognised(page, found))
	})
	return result, nil
}

// draw waits until a page may be recognised, and draws it. Release the slot unless there is an
// error.
func (s *scanner) draw(ctx context.Context, page pdfium.Page, draw pdfium.Draw) (_ *ocr.Slot, picture pdfium.Picture, err error) {
	if s.late() {
		return nil, picture, fault.Errorf(fault.Invalid, "recognising the text of the file took more than %v of CPU time (--ocr-time)", s.Time)
	}
	// The caller may stop reading at this step, so it must not have to wait for pages of others.
	s.progress("ocr", page.Number, s.pages)
	if err := ctx.Err(); err != nil {
		return nil, picture, err
	}
	slot, err := s.engine.Acquire(ctx)
	if err != nil {
		return nil, picture, err
	}
	begun := time.Now()
	picture, err = draw(ctx, drawingOf(page))
	if died := new(process.Died); errors.As(err, &died) { // files that the process read before may be the cause
		picture, err = s.source.Draw(ctx, pdfium.File{File: s.file}, drawingOf(page))
	}
	s.took(time.Since(begun))
	if err != nil {
		slot.Release()
	}
	return slot, picture, err
}

// begin counts a page that is waited for.
func (s *scanner) begin(page int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open++; s.open == 1 {
		s.since = time.Now()
	}
	s.last = max(s.last, page)
}

// late reports whether the file has no time left.
func (s *scanner) late() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent >= s.Time
}

// end counts a page that is no longer waited for.
func (s *scanner) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 {
		s.waits += time.Since(s.since)
	}
}

// took adds to the time spent.
func (s *scanner) took(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += d
}

// errOfService is shown to owners of files in place of errors that are not for them.
var errOfService = errors.New("the log of the server says why")

// fail notes that a page was not recognised. Of a fault of the service, such as a process that cannot
// be started, only the log says more.
func (s *scanner) fail(err error) {
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Unavailable) {
		cmp.Or(s.Logger, slog.Default()).Error("cannot recognise a scanned page", "error", err)
		err = errOfService
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.losses++; s.failed == nil {
		s.failed = err
	}
}

// key returns the name of a page in the cache.
func (s *scanner) key(page int) string {
	s.hashed.Do(func() {
		if s.Cache == nil || s.hash != "" {
			return
		}
		h := sha256.New()
		if _, err := io.Copy(h, io.NewSectionReader(s.file, 0, math.MaxInt64)); err == nil {
			s.hash = hex.EncodeToString(h.Sum(nil))
		}
	})
	return OCRKey(page, s.Program)
}

// OCRKey is the name in the PageCache of what a program has recognised on a page. The value is an
// encoded ocr.Result.
func OCRKey(page int, program *ocr.Program) string {
	languages := strings.ReplaceAll(strings.Join(program.Languages, "+"), "/", "-")
	if len(languages) > 60 {
		sum := sha256.Sum256([]byte(languages))
		languages = hex.EncodeToString(sum[:8])
	}
	return fmt.Sprintf("ocr-%d-%s-%s-%d", page, program.Version, languages, resultVersion)
}

// resultVersion is incremented when pages are recognised in another way.
const resultVersion = 1

func (s *scanner) kept(key string) (ocr.Result, bool) {
	if s.hash == "" {
		return ocr.Result{}, false
	}
	value, ok := s.Cache.Get(s.hash, key)
	if !ok {
		return ocr.Result{}, false
	}
	result, err := ocr.DecodeResult(value)
	return result, err == nil
}

func (s *scanner) keep(key string, result ocr.Result) {
	if s.hash != "" {
		if err := s.Cache.Put(s.hash, key, result.Encode()); err != nil { // the page may be recognised again
			cmp.Or(s.Logger, slog.Default()).Warn("cannot keep the text of a scanned page", "error", err)
		}
	}
}

func encodePage(p pdfium.Page) []byte {
	var e process.Encoder
	p.Encode(&e)
	return e.B
}

// InspectOCR returns the program that recognises text for r, and the sandbox report of a process
// that runs it. If no text is recognised, program is nil.
func InspectOCR(ctx context.Context, r extract.Reader) (program *ocr.Program, report sandbox.Report, err error) {
	p, ok := r.(*pooled)
	if !ok || p.ocr.engine == nil {
		return nil, report, nil
	}
	report, err = p.ocr.engine.Inspect(ctx)
	return p.ocr.Program, report, err
}
