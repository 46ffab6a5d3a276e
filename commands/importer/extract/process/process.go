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
	startTimeout = 2 * time.Minute // enough on a busy machine, too
	exitTimeout  = 2 * time.Second // how long a process may take to exit after it has closed its connection
	maxDetail    = 120             // bytes of standard error in Death.Detail
)

// Process is a running process of a Pool. It handles one request at a time.
type Process struct {
	*conn
	Report   sandbox.Report
	Uses     int  // number of requests, including the current one
	Unusable bool // callers set it if the process must not be reused

	cmd     *exec.Cmd
	stderr  head
	killed  atomic.Bool   // the process was killed because of a timeout
	exited  chan struct{} // closed when the process has exited
	waitErr error         // error of waiting for the exit; nil if the exit state is known
	timer   *time.Timer   // kills the process when it has been idle too long
	hardCPU time.Duration // hard limit of the process's total CPU time; 0 before the first request
	softCPU time.Duration // limit of CPU time for the last request
	watch   *watch        // watches the current request; nil between requests
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
	p.cmd.WaitDelay = exitTimeout // if child processes keep standard error open
	sandbox.Configure(p.cmd)
	conn, inherited, err := connect(p.cmd)
	if err != nil {
		return nil, err
	}
	p.conn = conn
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
			p.waitErr = err
		}
	}()
	k, payload, err := p.Receive(ctx, startTimeout)
	if err == nil && k != Ready {
		err = fmt.Errorf("read its sandbox report: its first frame has kind %d", k)
	}
	if err == nil {
		p.Report, err = decodeReport(payload)
	}
	if err == nil {
		p.Report.Note("CPU limit", sandbox.LimitCPU(p.cmd.Process.Pid, startTimeout, 0))
	}
	if err != nil {
		p.end()
		return nil, fmt.Errorf("%w: %s", err, p.stderr.line())
	}
	return p, nil
}

// Begin must be called before each request. It sets two limits of CPU time. At the limit for
// this request the system sends a signal, which hostile code could ignore. At the hard
// limit, which is for all requests of the process together, the system kills the process.
func (p *Process) Begin(cpu time.Duration) error {
	p.Uses++
	p.stopWatch()
	p.watch = watchOver(p)
	used, err := sandbox.UsedCPU(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	hard := time.Duration(0)
	if p.hardCPU == 0 {
		p.hardCPU = (used + 2*cpu).Truncate(time.Second) + time.Second // enough for two requests, rounded up
		hard = p.hardCPU
	}
	p.softCPU = cpu
	return sandbox.LimitCPU(p.cmd.Process.Pid, used+cpu, hard)
}

// cpuSpent reports whether too little CPU time is left below the hard limit for another
// request.
func (p *Process) cpuSpent() bool {
	used, err := sandbox.UsedCPU(p.cmd.Process.Pid)
	return err == nil && p.hardCPU > 0 && used+p.softCPU > p.hardCPU
}

// Receive reads the next frame. If no frame arrives before the timeout or the end of ctx,
// Receive kills the process.
func (p *Process) Receive(ctx context.Context, timeout time.Duration) (Kind, []byte, error) {
	deadline := time.Now().Add(timeout)
	return p.ReceiveWhile(ctx, func() time.Duration { return time.Until(deadline) })
}

// ReceiveWhile is like Receive, but the timeout may grow: left returns how much of it is left. It
// is called again when that time has passed, by another goroutine, and perhaps once more after
// ReceiveWhile has returned.
func (p *Process) ReceiveWhile(ctx context.Context, left func() time.Duration) (Kind, []byte, error) {
	received := make(chan struct{})
	defer close(received)
	watchdog := time.AfterFunc(left(), func() {
		for d := left(); d > 0; d = left() {
			select {
			case <-time.After(d):
			case <-received:
				return
			}
		}
		p.killed.Store(true)
		p.Kill()
	})
	defer watchdog.Stop()
	defer context.AfterFunc(ctx, p.Kill)()
	k, payload, err := p.Read()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return k, payload, err
}

// Kill kills the process and the programs that it runs.
func (p *Process) Kill() {
	if p.alive() {
		sandbox.Kill(p.cmd.Process)
	}
}

// LimitProgram limits a program that the process has started, as sandbox.LimitProgram does.
func (p *Process) LimitProgram(pid int, memory int64) error {
	return sandbox.LimitProgram(p.cmd.Process.Pid, pid, memory)
}

// alive reports whether the process has not exited.
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
	if err := errors.Join(p.waitErr, p.Close()); err != nil {
		return fmt.Errorf("kill a reader process: %w", err)
	}
	return nil
}

// Cause is why a process died.
type Cause int

const (
	Failed     Cause = iota // the process exited, or sent an invalid frame
	TimedOut                // the process was killed because no frame arrived in time
	OverCPU                 // the process exceeded a limit of CPU time
	OverMemory              // the process exceeded the memory limit
	Killed                  // a signal from another process or the system killed it
	Stopped                 // a termination signal ended it, as when the service stops
)

// Death describes how a process died.
type Death struct {
	Cause  Cause
	Detail string // description for log lines
}

// Died is the error of a request during which the process died. The file of the request may
// not be the cause: read it again in a new process to find out.
type Died struct{ Death }

func (d *Died) Error() string { return "the reader process died: " + d.Detail }

// Died waits for the exit of a process whose connection has ended, and returns the cause.
func (p *Process) Died() Death {
	p.Unusable = true
	timer := time.AfterFunc(exitTimeout, func() {
		p.killed.Store(true)
		p.Kill()
	})
	<-p.exited
	timedOut := timer.Stop() && p.killed.Load()
	stderr := p.stderr.line()
	state := p.cmd.ProcessState
	if state == nil {
		return Death{Failed, fmt.Sprint(p.waitErr)}
	}
	detail := state.String()
	if stderr != "" {
		detail += ": " + strings.ToValidUTF8(stderr[:min(len(stderr), maxDetail)], "")
	}
	switch status, ok := state.Sys().(syscall.WaitStatus); {
	case timedOut:
		return Death{TimedOut, detail}
	case p.killed.Load():
		return Death{Failed, detail} // the process closed its connection but did not exit
	case sandbox.OverCPU(state, p.hardCPU):
		return Death{OverCPU, detail}
	case slices.ContainsFunc(outOfMemory, func(words string) bool { return strings.Contains(stderr, words) }):
		return Death{OverMemory, detail}
	case !ok || !status.Signaled():
		return Death{Failed, detail}
	case status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGINT || status.Signal() == syscall.SIGHUP:
		return Death{Stopped, detail}
	}
	return Death{Killed, detail}
}

// outOfMemory are messages of Go's runtime and of the C library. The first one has this
// reason: the garbage collector does not check whether it got memory for its own lists, so
// without memory the runtime (goroutine 0) crashes at address 0.
var outOfMemory = []string{
	"sigcode=1 addr=0x0 goroutine 0 ",
	"out of memory", "cannot allocate", "cannot map pages", "failed to allocate", "pthread_create failed", "failed to create new OS thread", "errno=12", "errno 12",
}

// IsEnd reports whether an error of Receive means that the process has exited or closed its
// connection, and not that it sent an invalid frame.
func IsEnd(err error) bool {
	return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}

// head is a writer that keeps only the first bytes, because a crash report starts with its
// cause.
type head struct {
	mu sync.Mutex
	b  []byte
}

func (h *head) Write(p []byte) (int, error) {
	const limit = 2 << 10
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.b) < limit {
		h.b = append(h.b, p[:min(len(p), limit-len(h.b))]...)
	}
	return len(p), nil
}

// line returns the kept bytes as a single line.
func (h *head) line() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(strings.Fields(string(h.b)), " ")
}
