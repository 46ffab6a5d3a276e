// Package process runs work that may hang, crash or take too much memory in
// processes of this program. Each is confined by a sandbox, bounded in memory and
// processor time by the system, can be killed, and carries out one request at a
// time. A Pool starts and ends them, Serve runs in them, and frames go between
// the two over a Conn. The package imports extract/sandbox and events/fault.
package process

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"annals/commands/importer/extract/sandbox"
	"annals/events/fault"
)

// The defaults of Config.
const (
	DefaultIdle = 20 * time.Second
	DefaultUses = 200
)

// Config configures how processes are started and limited. Zero fields except Command
// mean their default.
type Config struct {
	// Command is the program and its arguments that call Serve; --memory
	// follows, if Memory is set.
	Command []string
	Memory  int64         // bytes that one process may write to: no limit
	Idle    time.Duration // after which an unused process is ended: DefaultIdle
	Uses    int           // of one process before it is replaced: DefaultUses
	MaxKept int64         // bytes that a process may hold after a request and still be reused: no limit
}

// Pool starts processes when they are needed, uses them again and again, and
// ends them when they are idle. It is safe for concurrent use. Close it at the
// end.
type Pool struct {
	config Config

	mu     sync.Mutex
	idle   []*Process
	closed bool
	timers sync.WaitGroup // for idle processes that are being ended
}

// NewPool returns a Pool that runs config.Command.
func NewPool(config Config) *Pool {
	if config.Idle <= 0 {
		config.Idle = DefaultIdle
	}
	if config.Uses <= 0 {
		config.Uses = DefaultUses
	}
	return &Pool{config: config}
}

// Take returns an idle process, or starts one. If fresh is set it always starts one. Call
// Release after use.
func (r *Pool) Take(ctx context.Context, fresh bool) (*Process, error) {
	p, err := r.takeIdle(fresh)
	if p != nil || err != nil {
		return p, err
	}
	p, err = start(ctx, &r.config)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "start a reader process: %w", err)
	}
	return p, nil
}

func (r *Pool) takeIdle(fresh bool) (*Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fault.Errorf(fault.Unavailable, "start a reader process: the service is stopping")
	}
	for !fresh && len(r.idle) > 0 {
		p := r.idle[len(r.idle)-1]
		r.idle = r.idle[:len(r.idle)-1]
		if !p.timer.Stop() {
			continue // it is being ended
		}
		r.timers.Done()
		if p.alive() {
			return p, nil
		}
		p.Close()
	}
	return nil, nil
}

// Release keeps a process for the next request, or ends it.
func (r *Pool) Release(p *Process) {
	p.stopWatch()
	cpuSpent := p.cpuSpent()
	maxKept := r.config.MaxKept > 0 && sandbox.Resident(p.cmd.Process.Pid) > r.config.MaxKept
	r.mu.Lock()
	if r.closed || p.Unusable || maxKept || cpuSpent || p.Uses >= r.config.Uses {
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

func (r *Pool) forget(p *Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.idle, p); i >= 0 {
		r.idle = slices.Delete(r.idle, i, i+1)
	}
}

// Idle returns how many processes wait for a request.
func (r *Pool) Idle() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.idle)
}

// Close ends the idle processes and waits for them. Those in use end when they are
// released.
func (r *Pool) Close() error {
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
