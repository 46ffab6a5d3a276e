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
)

// Config configures an Engine. Command and Program are required.
type Config struct {
	Command   []string // a program with arguments that make it call Main with the arguments that follow
	Program   *Program
	Processes int           // maximum number of pages that are recognised at the same time; default the number of cores
	PageTime  time.Duration // limit for a page; default a minute
	Memory    int64         // limit of Tesseract in bytes; default 512 MiB
	Idle      time.Duration // see process.Config
}

// Engine recognises pictures in processes. It is safe for concurrent use. Close it before the
// program exits.
type Engine struct {
	config Config
	pool   *process.Pool
	slots  chan struct{} // has a token for each Slot
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
		config: config, slots: make(chan struct{}, config.Processes),
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

// Slot is the right to recognise a page.
type Slot struct{ engine *Engine }

// Acquire waits for a Slot. Draw the page only after that, so that few pictures are in memory.
// Release the Slot after use.
func (e *Engine) Acquire(ctx context.Context) (*Slot, error) {
	select {
	case e.slots <- struct{}{}:
		return &Slot{e}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Release returns the slot.
func (s *Slot) Release() { <-s.engine.slots }

// Recognise recognises a picture. If the picture takes too much time or memory, the error is of
// kind fault.Invalid.
func (s *Slot) Recognise(ctx context.Context, picture Picture) (Result, error) {
	if !picture.valid() {
		return Result{}, fault.Errorf(fault.Invalid, "the picture has no pixels, or more than %d", MaxPixels)
	}
	e := s.engine
	p, err := e.pool.Take(ctx, false)
	if err != nil {
		return Result{}, err
	}
	defer e.pool.Release(p)
	p.Unusable = true
	_ = p.Begin(e.config.PageTime) // fails on systems without CPU limits; the sandbox report says so
	result, err := e.ask(ctx, p, picture)
	switch {
	case err == nil || fault.Is(err, fault.Invalid):
		return result, err
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case process.IsEnd(err):
		death := p.Died()
		switch death.Cause {
		case process.Stopped:
			return Result{}, fault.Errorf(fault.Unavailable, "the process that recognises text was stopped: %s", death.Detail)
		case process.TimedOut, process.OverCPU:
			return Result{}, e.tooSlow()
		}
		return Result{}, fault.Errorf(fault.Invalid, "the process that recognised the page died: %s", death.Detail)
	}
	return Result{}, fault.Errorf(fault.Invalid, "the process that recognised the page sent an invalid response: %w", err)
}

func (e *Engine) tooSlow() error {
	return fault.Errorf(fault.Invalid, "recognising the page took longer than %v (--ocr-page-time)", e.config.PageTime)
}

// ask sends a picture to a process, and returns its response.
func (e *Engine) ask(ctx context.Context, p *process.Process, picture Picture) (Result, error) {
	deadline := time.Now().Add(e.config.PageTime + graceTime)
	defer context.AfterFunc(ctx, p.Kill)() // also while the picture is sent
	watchdog := time.AfterFunc(e.config.PageTime+graceTime, p.Kill)
	err := p.Send(requestFrame, request{picture, e.config.PageTime}.encode(), nil)
	watchdog.Stop()
	if err != nil {
		return Result{}, err
	}
	for runs := 0; ; {
		k, payload, err := p.Receive(ctx, max(time.Until(deadline), time.Millisecond))
		if err != nil {
			return Result{}, err
		}
		switch k {
		case startedFrame:
			d := process.Decoder{B: payload}
			pid := d.Int()
			if runs++; runs > maxRuns || d.End() != nil {
				return Result{}, errors.New("unexpected frame")
			}
			if err := p.LimitProgram(pid, e.config.Memory); err != nil {
				return Result{}, err
			}
			if err := p.Send(limitedFrame, nil, nil); err != nil {
				return Result{}, err
			}
		case resultFrame:
			result, err := DecodeResult(payload)
			if err != nil {
				return Result{}, err
			}
			p.Unusable = false
			return result, nil
		case failedFrame:
			p.Unusable = false
			if len(payload) == 0 {
				return Result{}, e.tooSlow()
			}
			return Result{}, fault.Errorf(fault.Invalid, "%.200s", strings.ToValidUTF8(strings.Map(inLine, string(payload)), ""))
		default:
			return Result{}, fmt.Errorf("unexpected frame of kind %d", k)
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
