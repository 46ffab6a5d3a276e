package pdfium

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"annals/events/fault"
)

// The defaults of Config.
const (
	DefaultMemory   = 512 << 20
	DefaultTime     = 10 * time.Minute
	DefaultPageTime = time.Minute
	DefaultIdle     = 20 * time.Second
	DefaultFiles    = 200
)

const (
	overhead  = 48 << 20        // bytes that a process needs beside PDFium's own memory
	swollen   = 160 << 10       // KiB; a process that holds more after a file is ended
	startTime = 2 * time.Minute // for a start, compiling included, on a busy machine
)

// Config says how processes are started and bounded. A zero field but
// Command means its default.
type Config struct {
	// Command is the program and its arguments that call Serve.
	Command []string
	// CacheDir keeps the compiled PDFium, so that a process starts in some
	// 50 ms instead of a second. Empty means that Serve's caller decides.
	CacheDir  string
	Processes int           // at most at a time: the number of cores
	Memory    int64         // bytes that one process may hold: DefaultMemory
	Time      time.Duration // for one file: DefaultTime
	PageTime  time.Duration // for one page: DefaultPageTime
	Idle      time.Duration // after which an unused process is ended: DefaultIdle
	Files     int           // that one process reads before it is replaced: DefaultFiles
}

// Readers reads PDF files in processes that it starts when they are needed,
// uses for many files, and ends when they are idle. It is safe for concurrent
// use. Close it at the end.
type Readers struct {
	config Config
	slots  chan struct{} // holds one for each process that may still be in use
	// waiting is how many files wait for a slot.
	waiting atomic.Int32

	mu     sync.Mutex
	idle   []*process
	closed bool
	timers sync.WaitGroup // of ends of idle processes under way
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
	if config.Idle <= 0 {
		config.Idle = DefaultIdle
	}
	if config.Files <= 0 {
		config.Files = DefaultFiles
	}
	return &Readers{config: config, slots: make(chan struct{}, config.Processes)}
}

// Visitor is told what a file holds, first the document, then every page in
// order. An error it returns ends the reading.
type Visitor struct {
	Document func(Document) error
	Page     func(Page) error
}

// Read reads the file at path, which has at most maxPages pages. What is wrong
// with the file, time and memory it takes included, is an error of kind
// fault.Invalid whose text is a sentence for its owner; pages may have been
// visited before it. An error of the visitor is returned as it is.
func (r *Readers) Read(ctx context.Context, path string, maxPages int, visit Visitor) error {
	r.waiting.Add(1)
	select {
	case r.slots <- struct{}{}:
		r.waiting.Add(-1)
		defer func() { <-r.slots }()
	case <-ctx.Done():
		r.waiting.Add(-1)
		return ctx.Err()
	}
	p, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer r.release(p)
	lead := &reading{process: p, config: &r.config}
	doc, err := lead.open(ctx, path, maxPages)
	if err != nil {
		return err
	}
	if err := visit.Document(doc); err != nil {
		p.spoilt = true // the file is open in it
		return err
	}
	s := &spread{Readers: r, path: path, doc: doc, visit: visit}
	return s.run(ctx, lead)
}

// take returns an idle process, or a fresh one.
func (r *Readers) take(ctx context.Context) (*process, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, fault.Errorf(fault.Unavailable, "the reader of PDF files is closed")
	}
	for len(r.idle) > 0 {
		p := r.idle[len(r.idle)-1]
		r.idle = r.idle[:len(r.idle)-1]
		if p.timer.Stop() {
			r.timers.Done()
			r.mu.Unlock()
			return p, nil
		}
		// Its end is under way and takes care of it.
	}
	r.mu.Unlock()
	p, err := start(ctx, &r.config)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "starting the reader of PDF files: %w", err)
	}
	return p, nil
}

// release keeps a process for the next file, or ends it.
func (r *Readers) release(p *process) {
	r.mu.Lock()
	if r.closed || p.spoilt || p.files >= r.config.Files || p.resident > swollen {
		r.mu.Unlock()
		p.end()
		return
	}
	r.timers.Add(1)
	p.timer = time.AfterFunc(r.config.Idle, func() {
		defer r.timers.Done()
		r.forget(p)
		p.end()
	})
	r.idle = append(r.idle, p)
	r.mu.Unlock()
}

func (r *Readers) forget(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, other := range r.idle {
		if other == p {
			r.idle = append(r.idle[:i], r.idle[i+1:]...)
			return
		}
	}
}

// Close ends the processes that are idle and waits for it. Files that are
// being read are read to their end, and their processes ended then.
func (r *Readers) Close() error {
	r.mu.Lock()
	idle := r.idle
	r.idle, r.closed = nil, true
	r.mu.Unlock()
	var errs []error
	for _, p := range idle {
		if p.timer.Stop() {
			r.timers.Done()
			errs = append(errs, p.end())
		}
	}
	r.timers.Wait()
	return errors.Join(errs...)
}
