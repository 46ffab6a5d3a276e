// Package pdfium reads the text of PDF files with PDFium, in processes that may hang,
// crash or exceed their memory without affecting the service. Readers starts and
// ends the processes, Serve runs in them, and frames go between the two over a
// process.Conn. The package imports extract/process, extract/sandbox and
// events/fault.
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
	"github.com/tetratelabs/wazero/api"
)

const wasmPage = 64 << 10 // bytes of a page of WebAssembly memory

// engine is one instance of PDFium within this process. PDFium runs as
// WebAssembly that sees no files, no network and no environment, and whose
// memory is bounded. It is not safe for concurrent use.
type engine struct {
	pdf.Pdfium
	pool     pdf.Pool
	cache    wazero.CompilationCache
	space    []byte     // for the window on the open file
	memory   api.Memory // of PDFium
	reserved []byte     // the same, unless the system cannot reserve it
}

// memoryOfPDFium returns how many bytes of a process's memory are for PDFium.
func memoryOfPDFium(memory int64) int64 { return max(memory-overhead, leastPDFium) }

// newEngine starts PDFium with at most memory bytes. It takes the compiled code from
// cacheDir, or else compiles it, which takes about a second, and stores it there. An
// empty cacheDir stores nothing.
func newEngine(cacheDir string, memory int64) (_ *engine, err error) {
	e := &engine{space: make([]byte, 128<<10)}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(uint32(min(memory/wasmPage, 65536)))
	if cacheDir != "" {
		if err := os.MkdirAll(cacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("create the compile cache: %w", err)
		}
		if e.cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return nil, fmt.Errorf("open the compile cache: %w", err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	e.pool, err = webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1,
		FSConfig:      wazero.NewFSConfig(), // the default would mount / into the sandbox
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
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	e.memory = module.Memory()
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

// window is a file read through one buffer: PDFium asks for its bytes in
// pieces of half a kilobyte, mostly one after the other.
type window struct {
	file  *os.File
	size  int64
	at    int64 // of the next read
	start int64 // of buf within the file
	buf   []byte
	space []byte
}

func (w *window) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return 0, errors.New("only offsets from the start are supported")
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
		// Begin a little earlier: files are also searched backwards.
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
