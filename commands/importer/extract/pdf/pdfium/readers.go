package pdfium

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"

	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/sandbox"
	"annals/events/fault"
)

// The defaults of Config.
const (
	DefaultMemory   = 224 << 20
	LeastMemory     = 192 << 20 // overhead and leastPDFium, with a margin
	DefaultTime     = 10 * time.Minute
	DefaultPageTime = time.Minute
)

const (
	overhead    = 164 << 20 // bytes that a process needs besides PDFium's own memory
	leastPDFium = 24 << 20  // least bytes for PDFium, which starts with 17 MiB
	maxKept     = 120 << 20 // bytes that a process may hold after a file and still be reused
	compileTime = 5 * time.Minute
)

// Config configures how processes are started and limited. Zero fields except Command
// mean their default.
type Config struct {
	// Command is the program and its arguments that call Serve, or Compile if
	// --compile is added; --cache and --memory are added too.
	Command []string
	// CacheDir keeps the compiled PDFium, with which a process starts in about 50 ms
	// instead of seconds. Empty means a temporary folder, which Close removes.
	CacheDir  string
	Processes int           // most at a time: the number of cores
	Reserved  int           // how many of them only open files, and never help with another file's pages
	Memory    int64         // bytes that one process may hold, PDFium's share included: DefaultMemory
	Time      time.Duration // for one file: DefaultTime
	PageTime  time.Duration // for one page: DefaultPageTime
	Idle      time.Duration // after which an unused process is ended: process.DefaultIdle
	Files     int           // that one process reads before it is replaced: process.DefaultUses
}

// Readers reads PDF files in processes. It is safe for concurrent use. Close it
// at the end.
type Readers struct {
	config Config
	pool   *process.Pool
	slots  chan struct{} // holds one for each process that may still be in use
	// waiting is how many files wait for a slot.
	waiting atomic.Int32

	compiling chan struct{} // guards the fields below
	compiled  bool
	temporary string // folder to be deleted; "" if there is none
}

// New returns Readers that run config.Command.
func New(config Config) *Readers {
	if config.Processes <= 0 {
		config.Processes = runtime.GOMAXPROCS(0)
	}
	if config.Memory <= 0 {
		config.Memory = DefaultMemory
	}
	if config.Time <= 0 {
		config.Time = DefaultTime
	}
	if config.PageTime <= 0 {
		config.PageTime = DefaultPageTime
	}
	return &Readers{config: config, slots: make(chan struct{}, config.Processes), compiling: make(chan struct{}, 1)}
}

// File is a file to be read.
type File struct {
	*os.File
	MaxPages int
	// Alone means that one new process reads it, which reads nothing else.
	Alone bool
}

// Visitor is called with the document first, then with every page in order, both
// encoded as the process sent them: they may be hostile. An error ends the reading
// and is returned as it is.
type Visitor struct {
	Document func(pages int, document []byte) error
	Page     func(number int, page []byte) error
}

// Read reads a file of at most MaxPages pages. If the file is damaged, or takes too much
// time or memory, the error is of kind fault.Invalid, and its text is a sentence for the
// owner; some pages may have been visited. If the process died, maybe because of the file,
// the error is a process.Died.
func (r *Readers) Read(ctx context.Context, file File, visit Visitor) error {
	r.waiting.Add(1)
	select {
	case r.slots <- struct{}{}:
		r.waiting.Add(-1)
		defer func() { <-r.slots }()
	case <-ctx.Done():
		r.waiting.Add(-1)
		return ctx.Err()
	}
	if err := r.compile(ctx); err != nil {
		return err
	}
	p, err := r.pool.Take(ctx, file.Alone)
	if err != nil {
		return err
	}
	defer r.pool.Release(p)
	first := &reading{Process: p, config: &r.config}
	document, err := first.open(ctx, file, file.MaxPages)
	p.Unusable = p.Unusable || file.Alone
	if err != nil {
		return err
	}
	if err := visit.Document(first.all, document); err != nil {
		p.Unusable = true // the file is still open in it
		return err
	}
	s := &spread{Readers: r, file: file, pages: first.all, visit: visit}
	err = s.run(ctx, first)
	p.Unusable = p.Unusable || file.Alone
	return err
}

// compile compiles PDFium once for all processes. Compiling takes more memory than
// a reader process may have, so another process does it.
func (r *Readers) compile(ctx context.Context) error {
	select {
	case r.compiling <- struct{}{}:
		defer func() { <-r.compiling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.compiled {
		return nil
	}
	if len(r.config.Command) == 0 {
		return fault.Errorf(fault.Unavailable, "start a PDF reader: no command is configured")
	}
	if r.config.CacheDir == "" {
		dir, err := os.MkdirTemp("", "annals-pdf-")
		if err != nil {
			return fault.Errorf(fault.Unavailable, "create a temporary folder for compiled PDFium: %w", err)
		}
		r.temporary, r.config.CacheDir = dir, dir
	}
	timed, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	args := append(r.config.Command[1:len(r.config.Command):len(r.config.Command)], "--cache="+r.config.CacheDir)
	cmd := exec.CommandContext(timed, r.config.Command[0], append(args[:len(args):len(args)], "--compile")...)
	sandbox.Configure(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Errorf(fault.Unavailable, "compile PDFium: %w: %.2000s", err, out)
	}
	r.pool = process.NewPool(process.Config{
		Command: append([]string{r.config.Command[0]}, args...),
		Memory:  r.config.Memory, Idle: r.config.Idle, Uses: r.config.Files, MaxKept: maxKept,
	})
	r.compiled = true
	return nil
}

// Close ends the idle processes and waits for them. Files in progress are read to the end,
// and then their processes end.
func (r *Readers) Close() error {
	r.compiling <- struct{}{}
	defer func() { <-r.compiling }()
	var errs []error
	if r.compiled {
		errs = append(errs, r.pool.Close())
	} else {
		r.pool = process.NewPool(process.Config{})
		r.compiled = true
		errs = append(errs, r.pool.Close()) // refuses files from now on
	}
	if r.temporary != "" {
		errs = append(errs, os.RemoveAll(r.temporary))
	}
	return errors.Join(errs...)
}
