package ocr

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/sandbox"
	"annals/events/fault"
)

const (
	defaultPageTime = time.Minute
	defaultMemory   = 512 << 20
	graceTime       = 5 * time.Second // how long a process may take to give up after PageTime
	maxRuns         = 4               // of Tesseract for a page
	// patience is how much longer than its CPU time a page may take. Tesseract has the lowest
	// priority, so it may wait long for a processor while other files are imported.
	patience = 10
	// drawnAhead is how many pages may be drawn while others are recognised, so that Tesseract
	// does not wait for them.
	drawnAhead = 1
)

// Config configures an Engine. Command and Program are required.
type Config struct {
	Command   []string // a program with arguments that make it call Main with the arguments that follow
	Program   *Program
	Processes int           // maximum number of pages that are recognised at the same time; default the number of cores
	PageTime  time.Duration // limit of CPU time for a page; default a minute
	Memory    int64         // limit of Tesseract in bytes; default 512 MiB
	Idle      time.Duration // see process.Config
}

// Engine recognises pictures in processes. It is safe for concurrent use. Close it before the
// program exits.
type Engine struct {
	config Config
	pool   *process.Pool
	slots  chan struct{} // has a token for each Slot
	turns  chan struct{} // has a token for each page that is being recognised
}

// New returns an Engine that runs config.Command.
func New(config Config) *Engine {
	if config.Processes <= 0 {
		config.Processes = runtime.GOMAXPROCS(0)
	}
	if config.PageTime <= 0 {
		config.PageTime = defaultPageTime
	}
	if config.Memory <= 0 {
		config.Memory = defaultMemory
	}
	command := append(config.Command[:len(config.Command):len(config.Command)], config.Program.arguments()...)
	return &Engine{
		config: config, slots: make(chan struct{}, config.Processes+drawnAhead), turns: make(chan struct{}, config.Processes),
		pool: process.NewPool(process.Config{Command: command, Memory: config.Memory, Idle: config.Idle, Uses: 1000}),
	}
}

// Program returns the program that the Engine runs.
func (e *Engine) Program() *Program { return e.config.Program }

// Close kills the idle processes and waits until they have exited.
func (e *Engine) Close() error { return e.pool.Close() }

// Inspect returns the sandbox report of a process.
func (e *Engine) Inspect(ctx context.Context) (sandbox.Report, error) {
	p, err := e.pool.Take(ctx, false)
	if err != nil {
		return sandbox.Report{}, err
	}
	defer e.pool.Release(p)
	return p.Report, nil
}

// Slot is the right to draw a page and to recognise it.
type Slot struct {
	engine *Engine
	turn   bool // the slot has a token in turns
}

// Acquire waits for a Slot. Draw the page only after that, so that few pictures are in memory.
// Release the Slot after use.
func (e *Engine) Acquire(ctx context.Context) (*Slot, error) {
	select {
	case e.slots <- struct{}{}:
		return &Slot{engine: e}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Wait waits until the page can be recognised at once. Without it, Recognise waits.
func (s *Slot) Wait(ctx context.Context) error {
	if s.turn {
		return nil
	}
	select {
	case s.engine.turns <- struct{}{}:
		s.turn = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release returns the slot.
func (s *Slot) Release() {
	s.endTurn()
	<-s.engine.slots
}

func (s *Slot) endTurn() {
	if s.turn {
		s.turn = false
		<-s.engine.turns
	}
}

// Recognise recognises a picture, and returns how much CPU time that took. If the picture takes
// too much time or memory, the error is of kind fault.Invalid.
func (s *Slot) Recognise(ctx context.Context, picture Picture) (r Result, used time.Duration, err error) {
	if !picture.valid() {
		return Result{}, 0, fault.Errorf(fault.Invalid, "the picture has no pixels, or more than %d", MaxPixels)
	}
	e := s.engine
	if err := s.Wait(ctx); err != nil {
		return Result{}, 0, err
	}
	defer s.endTurn()
	begun := time.Now()
	r, used, err = e.run(ctx, picture)
	// The process may be hostile and report any time. One that died has reported none.
	if took := time.Since(begun); err != nil {
		used = min(took, e.config.PageTime)
	} else {
		used = min(max(used, took/(2*patience)), e.config.PageTime)
	}
	return r, used, err
}

func (e *Engine) run(ctx context.Context, picture Picture) (_ Result, used time.Duration, err error) {
	p, err := e.pool.Take(ctx, false)
	if err != nil {
		return Result{}, 0, err
	}
	defer e.pool.Release(p)
	p.Unusable = true
	_ = p.Begin(e.config.PageTime) // fails on systems without CPU limits; the sandbox report says so
	result, used, err := e.ask(ctx, p, picture)
	switch {
	case err == nil || fault.Is(err, fault.Invalid):
		return result, used, err
	case ctx.Err() != nil:
		return Result{}, 0, ctx.Err()
	case process.IsEnd(err):
		death := p.Died()
		switch death.Cause {
		case process.Stopped:
			return Result{}, 0, fault.Errorf(fault.Unavailable, "the process that recognises text was stopped: %s", death.Detail)
		case process.TimedOut, process.OverCPU:
			return Result{}, 0, e.tooSlow()
		}
		return Result{}, 0, fault.Errorf(fault.Invalid, "the process that recognised the page died: %s", death.Detail)
	}
	return Result{}, 0, fault.Errorf(fault.Invalid, "the process that recognised the page sent an invalid response: %w", err)
}

func (e *Engine) tooSlow() error {
	return fault.Errorf(fault.Invalid, "recognising the page took more than %v of CPU time, or ten times as long (--ocr-page-time)", e.config.PageTime)
}

// ask sends a picture to a process, and returns its response with the CPU time that it reports.
func (e *Engine) ask(ctx context.Context, p *process.Process, picture Picture) (_ Result, used time.Duration, err error) {
	limit := patience*e.config.PageTime + graceTime
	deadline := time.Now().Add(limit)
	defer context.AfterFunc(ctx, p.Kill)() // also while the picture is sent
	watchdog := time.AfterFunc(limit, p.Kill)
	file := inFile(picture)
	if file != nil {
		defer file.Close()
	}
	err = p.Send(requestFrame, request{picture, e.config.PageTime, file != nil}.encode(), file)
	watchdog.Stop()
	if err != nil {
		return Result{}, 0, err
	}
	for runs := 0; ; {
		k, payload, err := p.Receive(ctx, max(time.Until(deadline), time.Millisecond))
		if err != nil {
			return Result{}, 0, err
		}
		switch k {
		case startedFrame:
			d := process.Decoder{B: payload}
			pid := d.Int()
			if runs++; runs > maxRuns || d.End() != nil {
				return Result{}, 0, errors.New("unexpected frame")
			}
			if err := p.LimitProgram(pid, e.config.Memory); err != nil {
				return Result{}, 0, err
			}
			if err := p.Send(limitedFrame, nil, nil); err != nil {
				return Result{}, 0, err
			}
		case resultFrame:
			d := process.Decoder{B: payload}
			used := time.Duration(d.Int()) * time.Millisecond
			result, err := DecodeResult(d.B)
			if err != nil {
				return Result{}, 0, err
			}
			p.Unusable = false
			return result, used, nil
		case failedFrame:
			p.Unusable = false
			if len(payload) == 0 {
				return Result{}, 0, e.tooSlow()
			}
			return Result{}, 0, fault.Errorf(fault.Invalid, "%.200s", strings.ToValidUTF8(strings.Map(inLine, string(payload)), ""))
		default:
			return Result{}, 0, fmt.Errorf("unexpected frame of kind %d", k)
		}
	}
}

// inLine drops characters that do not belong in a sentence.
func inLine(r rune) rune {
	if r == ' ' {
		return r
	}
	return printable(r)
}
