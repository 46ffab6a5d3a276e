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
	Report sandbox.Report // its report of its sandbox
	Uses   int            // requests so far, including this one; 1 for a new process
	// Unusable is set if it must not serve another request.
	Unusable bool

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
	p.cmd.WaitDelay = endTime // for children that hold its standard error
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

// Begin is called before each request, which may use most processor time. At that
// limit the system ends the process by a signal, which hostile code in it could
// ignore. At a second limit, for all its requests together, the system kills it.
func (p *Process) Begin(most time.Duration) error {
	p.Uses++
	p.stopWatch()
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

// cpuSpent reports whether the next request could meet the second limit because of
// what earlier ones used.
func (p *Process) cpuSpent() bool {
	used, err := sandbox.UsedCPU(p.cmd.Process.Pid)
	return err == nil && p.hardCPU > 0 && used+p.mostCPU > p.hardCPU
}

// Receive reads the next frame. It kills the process if none arrives within the timeout, or
// if ctx ends.
func (p *Process) Receive(ctx context.Context, timeout time.Duration) (Kind, []byte, error) {
	watchdog := time.AfterFunc(timeout, func() {
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

// Kill ends the process at once.
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

// end kills the process and waits for it.
func (p *Process) end() error {
	p.Kill()
	<-p.exited
	if err := errors.Join(p.failed, p.Close()); err != nil {
		return fmt.Errorf("end a reader process: %w", err)
	}
	return nil
}

// Cause says why a process ended.
type Cause int

const (
	Failed     Cause = iota // it exited, or sent an invalid frame
	TimedOut                // it was killed because no frame came in time
	OverCPU                 // it took more processor time than Begin allowed
	OverMemory              // it asked for more memory than it may have
	Killed                  // by a signal from outside, or from the system
	Stopped                 // by a request to end, as when the service stops
)

// Death describes how a process ended.
type Death struct {
	Cause  Cause
	Detail string // for a log
}

// Died is returned if a process ended before it was done. Whether its file is the cause
// shows when a new process reads it again.
type Died struct{ Death }

func (d *Died) Error() string { return "the reader process ended before it was done: " + d.Detail }

// Died waits for the end of a process whose connection has ended, and returns
// its cause.
func (p *Process) Died() Death {
	p.Unusable = true
	timer := time.AfterFunc(endTime, func() {
		p.killed.Store(true)
		p.cmd.Process.Kill()
	})
	<-p.exited
	timedOut := timer.Stop() && p.killed.Load()
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
		return Death{Failed, detail} // it sent invalid frames and did not exit
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

// outOfMemory are messages of Go's runtime and of the C library. The garbage
// collector does not check the memory for its own lists: if that is refused, the
// runtime (goroutine 0) crashes at address 0.
var outOfMemory = []string{
	"sigcode=1 addr=0x0 goroutine 0 ",
	"out of memory", "cannot allocate", "cannot map pages", "failed to allocate", "pthread_create failed", "failed to create new OS thread", "errno=12", "errno 12",
}

// IsEnd reports whether an error of Receive means that the process has ended or
// closed its connection, rather than that it sent an invalid frame.
func IsEnd(err error) bool {
	return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}

// head keeps the first bytes that are written to it, because a crash report starts with its
// cause.
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
