// Package process runs code that may hang, crash or take too much memory in separate
// processes of this program. Each process is sandboxed, limited in memory and CPU time, can
// be killed, and handles one request at a time. A Pool starts and kills the processes, Serve
// runs in them, and the two exchange frames. The package imports extract/sandbox and
// events/fault.
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

// Defaults of Config.
const (
	defaultIdle = 20 * time.Second
	defaultUses = 200
)

// Config configures a Pool. Command is required.
type Config struct {
	// Command is the program, and arguments that make it call Serve. If Memory is set,
	// --memory is appended.
	Command     []string
	Memory      int64         // limit of a process's writable memory in bytes; 0 means none
	Idle        time.Duration // after which an unused process is killed; default 20 s
	Uses        int           // requests after which a process is replaced; default 200
	MaxResident int64         // resident memory in bytes above which a process is not reused; 0 means no limit
}

// Pool starts processes on demand, reuses them, and kills them when they are idle. It is safe
// for concurrent use. Close it before the program exits.
type Pool struct {
	config Config

	mu     sync.Mutex
	idle   []*Process
	closed bool
	timers sync.WaitGroup // idle timers that have not been stopped
}

// NewPool returns a Pool that runs config.Command.
func NewPool(config Config) *Pool {
	if config.Idle <= 0 {
		config.Idle = defaultIdle
	}
	if config.Uses <= 0 {
		config.Uses = defaultUses
	}
	return &Pool{config: config}
}

// Take returns an idle process, or starts a new one. If fresh is set it always starts a new
// process. Call Release after use.
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
			continue // the process is being killed
		}
		r.timers.Done()
		if p.alive() {
			return p, nil
		}
		p.Close()
	}
	return nil, nil
}

// Release returns a process to the pool, or kills it if it must not be reused.
func (r *Pool) Release(p *Process) {
	p.stopWatch()
	cpuSpent := p.cpuSpent()
	tooLarge := r.config.MaxResident > 0 && sandbox.Resident(p.cmd.Process.Pid) > r.config.MaxResident
	r.mu.Lock()
	if r.closed || p.Unusable || tooLarge || cpuSpent || p.Uses >= r.config.Uses {
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

// Idle returns the number of idle processes.
func (r *Pool) Idle() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.idle)
}

// Close kills the idle processes and waits until they have exited. Release kills processes
// that are in use now.
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
