package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"annals/commands/importer/extract/sandbox"
)

const (
	startTime = 2 * time.Minute // for a start on a busy machine
	endTime   = 2 * time.Second // for a process that closed its connection
	maxDetail = 120             // bytes of its standard error, for a log: a stack follows
)

// Process is one running process of a Pool. It answers one request at a time.
type Process struct {
	*Conn
	Report sandbox.Report // what it said of its sandbox
	Uses   int            // requests so far, this one included: 1 says that it is fresh
	// Spoilt is set by its user if it must not be used again.
	Spoilt bool

	cmd     *exec.Cmd
	stderr  head
	killed  atomic.Bool   // by its watchdog
	exited  chan struct{} // closed when it has ended
	failed  error         // of waiting for it; nil if its exit state is known
	timer   *time.Timer   // ends it when idle
	hardCPU time.Duration // since its start: its last limit; 0 before the first request
	mostCPU time.Duration // of the last request
	watch   *watch        // over its request; nil between requests
}

// start starts a process and waits until it is ready.
func start(ctx context.Context, config *Config) (*Process, error) {
	if len(config.Command) == 0 {
		return nil, errors.New("no command is configured")
	}
	args := config.Command[1:]
	if config.Memory > 0 {
		args = append(args[:len(args):len(args)], "--memory="+strconv.FormatInt(config.Memory, 10))
	}
	p := &Process{cmd: exec.Command(config.Command[0], args...), exited: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = endTime // for what holds on to its standard error
	sandbox.Configure(p.cmd)
	conn, inherited, err := connect(p.cmd)
	if err != nil {
		return nil, err
	}
	p.Conn = conn
	err = p.cmd.Start()
	for _, c := range inherited {
		c.Close()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go func() {
		defer close(p.exited)
		var exit *exec.ExitError
		if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
			p.failed = err
		}
	}()
	k, payload, err := p.Receive(ctx, startTime)
	if err == nil && k != Ready {
		err = fmt.Errorf("its first frame is of kind %d, not a report", k)
	}
	if err == nil {
		p.Report, err = decodeReport(payload)
	}
	if err == nil {
		p.Report.Note("CPU limit", sandbox.LimitCPU(p.cmd.Process.Pid, startTime, 0))
	}
	if err != nil {
		p.end()
		return nil, fmt.Errorf("%w: %s", err, p.stderr.line())
	}
	return p, nil
}

// Begin is called before each request, for which the process may use most
// processor time. Beyond that the system ends it by a signal, which code that took
// it over could ignore. At a second limit, which the first request sets for all of
// them together, the system kills it.
func (p *Process) Begin(most time.Duration) error {
	p.Uses++
	p.settle()
	p.watch = watchOver(p)
	used, err := sandbox.UsedCPU(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	hard := time.Duration(0)
	if p.hardCPU == 0 {
		p.hardCPU = (used + 2*most).Truncate(time.Second) + time.Second // two requests, rounded up
		hard = p.hardCPU
	}
	p.mostCPU = most
	return sandbox.LimitCPU(p.cmd.Process.Pid, used+most, hard)
}

// worn reports whether so much processor time is used up that the next request
// could be killed for what earlier ones took.
func (p *Process) worn() bool {
	used, err := sandbox.UsedCPU(p.cmd.Process.Pid)
	return err == nil && p.hardCPU > 0 && used+p.mostCPU > p.hardCPU
}

// Receive reads the next frame. If it does not come in time, or ctx ends, the
// process is killed.
func (p *Process) Receive(ctx context.Context, patience time.Duration) (Kind, []byte, error) {
	watchdog := time.AfterFunc(patience, func() {
		p.killed.Store(true)
		p.cmd.Process.Kill()
	})
	defer watchdog.Stop()
	defer context.AfterFunc(ctx, p.Kill)()
	k, payload, err := p.Read()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return k, payload, err
}

// Kill ends the process, whatever it is doing.
func (p *Process) Kill() { p.cmd.Process.Kill() }

// alive reports whether the process has not ended.
func (p *Process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// end ends the process, whatever it is doing, and waits for it.
func (p *Process) end() error {
	p.Kill()
	<-p.exited
	if err := errors.Join(p.failed, p.Close()); err != nil {
		return fmt.Errorf("end a reader: %w", err)
	}
	return nil
}

// Cause is why a process ended.
type Cause int

const (
	Failed     Cause = iota // by itself, or it sent an invalid frame
	TimedOut                // it was killed because no frame came in time
	OverCPU                 // it took more processor time than Begin allowed
	OverMemory              // it asked for more memory than it may have
	Killed                  // by a signal from outside, or from the system
	Stopped                 // by a request to end, as when the service stops
)

// Death says how a process ended. Nothing can be read from it any more.
type Death struct {
	Cause  Cause
	Detail string // for a log
}

// Died is the error that a process ended before it was done, in a way that may
// be due to what it worked on, or not: another try, in a process of its own,
// decides.
type Died struct{ Death }

func (d *Died) Error() string { return "the reader ended before it was done: " + d.Detail }

// Died waits for the end of a process whose connection has ended, and returns
// its cause.
func (p *Process) Died() Death {
	p.Spoilt = true
	late := time.AfterFunc(endTime, func() {
		p.killed.Store(true)
		p.cmd.Process.Kill()
	})
	<-p.exited
	timedOut := late.Stop() && p.killed.Load()
	said := p.stderr.line()
	state := p.cmd.ProcessState
	if state == nil {
		return Death{Failed, fmt.Sprint(p.failed)}
	}
	detail := state.String()
	if said != "" {
		detail += ": " + strings.ToValidUTF8(said[:min(len(said), maxDetail)], "")
	}
	switch status, ok := state.Sys().(syscall.WaitStatus); {
	case timedOut:
		return Death{TimedOut, detail}
	case p.killed.Load():
		return Death{Failed, detail} // it sent nonsense and went on
	case sandbox.OverCPU(state, p.hardCPU):
		return Death{OverCPU, detail}
	case slices.ContainsFunc(outOfMemory, func(words string) bool { return strings.Contains(said, words) }):
		return Death{OverMemory, detail}
	case !ok || !status.Signaled():
		return Death{Failed, detail}
	case status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGINT || status.Signal() == syscall.SIGHUP:
		return Death{Stopped, detail}
	}
	return Death{Killed, detail}
}

// outOfMemory are words of Go's runtime and of the C library for that. The
// collector does not look whether it got memory for its own lists: where that
// was refused, the runtime itself, which is goroutine 0, ends by a
// signal at address 0.
var outOfMemory = []string{
	"sigcode=1 addr=0x0 goroutine 0 ",
	"out of memory", "cannot allocate", "cannot map pages", "failed to allocate", "pthread_create failed", "failed to create new OS thread", "errno=12", "errno 12",
}

// IsEnd reports whether an error of Receive says that the process has ended or
// closed its connection, and not that it sent nonsense.
func IsEnd(err error) bool {
	return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}

// head keeps the beginning of what is written to it: a crash says first what it is.
type head struct {
	mu sync.Mutex
	b  []byte
}

func (h *head) Write(p []byte) (int, error) {
	const most = 2 << 10
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.b) < most {
		h.b = append(h.b, p[:min(len(p), most-len(h.b))]...)
	}
	return len(p), nil
}

// line returns it as one line.
func (h *head) line() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(strings.Fields(string(h.b)), " ")
}
