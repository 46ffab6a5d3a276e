// Package pdfium reads the text of PDF files with PDFium. PDFium runs in separate processes,
// which may hang, crash or exceed their memory without affecting the service. Readers starts
// and kills the processes, Serve runs in them, and the two exchange frames of package process.
// The package imports extract/pdf/accent, extract/pdf/bidi, extract/pdf/quality, extract/pdf/spacing, extract/pdf/truetype, extract/process, extract/sandbox and events/fault.
package pdfium

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	pdf "github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// Pages of WebAssembly memory.
const wasmPage, wasmPages = 64 << 10, 65536 // bytes, and their maximum number

// engine is an instance of PDFium in this process. PDFium is WebAssembly: it has no access to
// files, network and environment, and its memory is limited. It is not safe for concurrent
// use.
type engine struct {
	pdf.Pdfium
	*direct
	pool     pdf.Pool
	cache    wazero.CompilationCache
	space    []byte // buffer for reading the open file
	text     []rune // these are buffers for the text of a page and of a line
	glyphs   []glyph
	bytes    []byte
	spans    []span
	reserved []byte // address range reserved for memory; nil if the system cannot reserve one
	short    bool   // PDFium asked for more memory than reserved, and may have left out images since
}

// memoryOfPDFium returns PDFium's share of a process's memory.
func memoryOfPDFium(memory int64) int64 { return max(memory-overhead, minPDFium) }

// newEngine starts PDFium with a limit of memory bytes. It loads compiled code from cacheDir.
// If cacheDir has none, it compiles PDFium, which takes about a second, and stores the code
// there. If cacheDir is empty, it compiles PDFium and stores nothing.
func newEngine(cacheDir string, memory int64) (_ *engine, err error) {
	e := &engine{space: make([]byte, 128<<10)}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(uint32(min(memory/wasmPage, wasmPages)))
	if cacheDir != "" {
		if err := os.MkdirAll(cacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("create the cache of compiled PDFium: %w", err)
		}
		if e.cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return nil, fmt.Errorf("open the cache of compiled PDFium: %w", err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	e.pool, err = webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1,
		FSConfig:      wazero.NewFSConfig(), // the default would give PDFium access to /
		RuntimeConfig: config,
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	if e.Pdfium, err = e.pool.GetInstance(time.Minute); err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	module, err := keepFunctions(e.Pdfium)
	if err == nil {
		e.direct, err = newDirect(module)
	}
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	return e, nil
}

// Close releases PDFium and its memory.
func (e *engine) Close() error {
	var errs []error
	if e.pool != nil {
		errs = append(errs, e.pool.Close())
	}
	if e.reserved != nil {
		errs = append(errs, unmap(e.reserved))
	}
	return errors.Join(errs...)
}

// window is a file with a buffer. PDFium reads pieces of half a kilobyte, mostly sequentially.
type window struct {
	file  *os.File
	size  int64
	at    int64 // offset of the next read
	start int64 // offset of buf in the file
	buf   []byte
	space []byte
}

func (w *window) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return 0, errors.New("seek in the PDF: only offsets from the start are supported")
	}
	w.at = offset
	return offset, nil
}

func (w *window) Read(p []byte) (int, error) {
	if w.at >= w.size {
		return 0, io.EOF
	}
	if len(p) > len(w.space)/2 {
		n, err := w.file.ReadAt(p, w.at)
		w.at += int64(n)
		if n > 0 && err == io.EOF {
			err = nil
		}
		return n, err
	}
	if w.at < w.start || w.at+int64(len(p)) > w.start+int64(len(w.buf)) {
		// Start reading a little before the offset, because PDFium also searches backwards.
		w.start = max(0, w.at-int64(len(w.space)/4))
		n, err := w.file.ReadAt(w.space, w.start)
		if n == 0 && err != nil {
			return 0, err
		}
		w.buf = w.space[:n]
	}
	if w.at >= w.start+int64(len(w.buf)) {
		return 0, io.EOF
	}
	n := copy(p, w.buf[w.at-w.start:])
	w.at += int64(n)
	return n, nil
}
