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
	LeastMemory     = 192 << 20 // overhead and leastPDFium, and a little more
	DefaultTime     = 10 * time.Minute
	DefaultPageTime = time.Minute
)

const (
	overhead    = 164 << 20 // bytes that a process needs beside PDFium's own memory
	leastPDFium = 24 << 20  // bytes of that; it starts with 17 MiB
	swollen     = 120 << 20 // bytes; a process that holds more after a file is ended
	compileTime = 5 * time.Minute
)

// Config says how processes are started and bounded. A zero field but
// Command means its default.
type Config struct {
	// Command is the program and its arguments that call Serve, or Compile if
	// --compile follows; --cache and --memory follow, too.
	Command []string
	// CacheDir keeps the compiled PDFium, so that a process starts in some
	// 50 ms instead of seconds. Empty: a folder that is deleted in the end.
	CacheDir  string
	Processes int           // at most at a time: the number of cores
	Spare     int           // of those, how many only read files of their own and do not help with others
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

	compiling chan struct{} // holds one while what follows is looked at or changed
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
	// Alone has it read by one fresh process, which reads nothing else.
	Alone bool
}

// Visitor is given what a file holds, first the document, then every page in
// order, both as they came from the process: Encode wrote them, if nobody took
// that over. An error it returns ends the reading.
type Visitor struct {
	Document func(pages int, document []byte) error
	Page     func(number int, page []byte) error
}

// Read reads a file, which has at most MaxPages pages. What is wrong with it,
// time and memory it takes included, is an error of kind fault.Invalid whose
// text is a sentence for its owner; pages may have been visited before it. A
// process that died for a reason that may be the file's is a process.Died. An error of
// the visitor is returned as it is.
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
	lead := &reading{Process: p, config: &r.config}
	document, err := lead.open(ctx, file, file.MaxPages)
	p.Spoilt = p.Spoilt || file.Alone
	if err != nil {
		return err
	}
	if err := visit.Document(lead.all, document); err != nil {
		p.Spoilt = true // the file is open in it
		return err
	}
	s := &spread{Readers: r, file: file, pages: lead.all, visit: visit}
	err = s.run(ctx, lead)
	p.Spoilt = p.Spoilt || file.Alone
	return err
}

// compile sees to it, once, that processes find PDFium compiled. Compiling
// takes more memory than they may have, so it has a process of its own.
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
		return fault.Errorf(fault.Unavailable, "start the reader of PDF files: no command is configured")
	}
	if r.config.CacheDir == "" {
		dir, err := os.MkdirTemp("", "annals-pdf-")
		if err != nil {
			return fault.Errorf(fault.Unavailable, "make a folder for the reader of PDF files: %w", err)
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
		return fault.Errorf(fault.Unavailable, "start the reader of PDF files: %w: %.2000s", err, out)
	}
	r.pool = process.NewPool(process.Config{
		Command: append([]string{r.config.Command[0]}, args...),
		Memory:  r.config.Memory, Idle: r.config.Idle, Uses: r.config.Files, Swollen: swollen,
	})
	r.compiled = true
	return nil
}

// Close ends the processes that are idle and waits for it. Files that are
// being read are read to their end, and their processes ended then.
func (r *Readers) Close() error {
	r.compiling <- struct{}{}
	defer func() { <-r.compiling }()
	var errs []error
	if r.compiled {
		errs = append(errs, r.pool.Close())
	} else {
		r.pool = process.NewPool(process.Config{})
		r.compiled = true
		errs = append(errs, r.pool.Close()) // which refuses what comes now
	}
	if r.temporary != "" {
		errs = append(errs, os.RemoveAll(r.temporary))
	}
	return errors.Join(errs...)
}
