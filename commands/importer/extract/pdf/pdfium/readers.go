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

// Defaults of Config, and the lowest usable Memory.
const (
	DefaultMemory   = 416 << 20 // a scanned page of 600 dpi in colour takes up to 300
	LeastMemory     = 192 << 20 // overhead and minPDFium, with a margin
	defaultTime     = 10 * time.Minute
	defaultPageTime = time.Minute
)

const (
	overhead       = 164 << 20 // bytes that a process needs in addition to PDFium's memory
	minPDFium      = 24 << 20  // bytes for PDFium, which starts with 17 MiB
	maxResident    = 120 << 20 // resident bytes above which a process is not reused
	compileTimeout = 5 * time.Minute
)

// Config configures Readers. Command is required; all other fields have defaults.
type Config struct {
	// Command is a program with arguments that make it call Serve or, if --compile is appended,
	// Compile. Readers also appends --cache and --memory.
	Command []string
	// Images means that the files are images. Command then calls images.Serve, and only --memory
	// is appended.
	Images bool
	// CacheDir stores the compiled PDFium. With it a process starts in about 50 ms instead of
	// seconds. The default is a temporary folder, which Close removes.
	CacheDir  string
	Processes int           // maximum number of concurrent processes; default the number of cores
	Reserved  int           // number of processes that are only used to open files, not to help reading a file that another process opened
	Memory    int64         // limit of a process in bytes, including PDFium; default DefaultMemory
	Time      time.Duration // limit for a file; default 10 minutes
	PageTime  time.Duration // limit for a page; default a minute
	Pixels    int           // maximum number of pixels of a picture; default and at most MaxPicturePixels
	Idle      time.Duration // see process.Config
	Files     int           // process.Config.Uses
}

// Readers reads PDF files in processes. It is safe for concurrent use. Close it before the
// program exits.
type Readers struct {
	config  Config
	pool    *process.Pool
	slots   chan struct{} // has a token for each process in use
	waiting atomic.Int32  // files that wait for a slot
	scans   atomic.Int32  // files with scanned pages; their processes wait most of the time

	compiling chan struct{} // locked by sending a token; guards the fields below
	compiled  bool
	temporary string // folder that Close removes; "" if there is none
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
		config.Time = defaultTime
	}
	if config.PageTime <= 0 {
		config.PageTime = defaultPageTime
	}
	if config.Pixels <= 0 {
		config.Pixels = MaxPicturePixels
	}
	return &Readers{config: config, slots: make(chan struct{}, config.Processes), compiling: make(chan struct{}, 1)}
}

// File is a file to read.
type File struct {
	*os.File
	MaxPages int
	Alone    bool // read it in one new process that reads nothing else
	Scan     Scan // reads scanned pages; nil to read them like others
}

// Visitor is called with the document, and then with each page in order. Documents and pages
// are payloads from a process, and may be hostile. If a call returns an error, Read stops and
// returns that error unchanged.
type Visitor struct {
	Document func(pages int, document []byte) error
	Page     func(number int, page []byte) error
}

// Read reads a file of at most MaxPages pages. If the file is damaged, or takes too much time
// or memory, the error is of kind fault.Invalid, with a text for the owner; some pages may have
// been visited before. If the process died, maybe because of the file, the error is a
// *process.Died.
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
	first := &session{Process: p, config: &r.config}
	defer func() { r.pool.Release(first.Process) }()
	document, err := first.open(ctx, file, file.MaxPages, false)
	p.Unusable = p.Unusable || file.Alone
	if err != nil {
		return err
	}
	if err := visit.Document(first.all, document); err != nil {
		p.Unusable = true // the process still has the file open
		return err
	}
	s := &parallel{Readers: r, file: file, pages: first.all, visit: visit}
	err = s.run(ctx, first)
	first.Unusable = first.Unusable || file.Alone
	return err
}

// compile compiles PDFium once for all processes. That takes more memory than a reader process
// may use, so a separate process does it.
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
		return fault.Errorf(fault.Unavailable, "start a PDF reader: no reader process is configured")
	}
	if r.config.Images {
		r.pool = process.NewPool(process.Config{Command: r.config.Command, Memory: r.config.Memory, Idle: r.config.Idle, Uses: r.config.Files, MaxResident: maxResident})
		r.compiled = true
		return nil
	}
	if r.config.CacheDir == "" {
		dir, err := os.MkdirTemp("", "annals-pdf-")
		if err != nil {
			return fault.Errorf(fault.Unavailable, "create a temporary folder for compiled PDFium: %w", err)
		}
		r.temporary, r.config.CacheDir = dir, dir
	}
	timed, cancel := context.WithTimeout(ctx, compileTimeout)
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
		Memory:  r.config.Memory, Idle: r.config.Idle, Uses: r.config.Files, MaxResident: maxResident,
	})
	r.compiled = true
	return nil
}

// Close kills the idle processes and waits until they have exited. A process in use is killed
// after it has read its file.
func (r *Readers) Close() error {
	r.compiling <- struct{}{}
	defer func() { <-r.compiling }()
	var errs []error
	if r.compiled {
		errs = append(errs, r.pool.Close())
	} else {
		r.pool = process.NewPool(process.Config{})
		r.compiled = true
		errs = append(errs, r.pool.Close()) // Read fails from now on
	}
	if r.temporary != "" {
		errs = append(errs, os.RemoveAll(r.temporary))
	}
	return errors.Join(errs...)
}
