package pdfium

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"annals/events/fault"
)

// endTime is what a process that said its last word has to end.
const endTime = 2 * time.Second

// process is one running reader. It is used by one file at a time.
type process struct {
	cmd      *exec.Cmd
	stdin    io.Closer
	frames   *frames
	stderr   tail
	killed   atomic.Bool  // by its watchdog
	wait     func() error // returns once it has ended; may be called again
	files    int          // read so far
	resident int          // KiB, after the last file
	spoilt   bool         // must not be used again
	timer    *time.Timer  // ends it when idle
}

// start starts a process and waits until it is ready.
func start(ctx context.Context, config *Config) (*process, error) {
	if len(config.Command) == 0 {
		return nil, errors.New("no command is configured")
	}
	p := &process{cmd: exec.Command(config.Command[0], config.Command[1:]...)}
	p.cmd.Env = append(os.Environ(), memoryEnv+"="+strconv.FormatInt(config.Memory, 10), "GOTRACEBACK=none")
	if config.CacheDir != "" {
		p.cmd.Env = append(p.cmd.Env, cacheEnv+"="+config.CacheDir)
	}
	p.cmd.Stderr = &p.stderr
	p.wait = sync.OnceValue(p.cmd.Wait)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin = stdin
	p.frames = &frames{r: bufio.NewReaderSize(stdout, 64<<10), w: bufio.NewWriter(stdin)}
	k, _, err := p.await(ctx, startTime)
	if err == nil && k != readyFrame {
		err = fmt.Errorf("it said %d first", k)
	}
	if err != nil {
		p.end()
		return nil, fmt.Errorf("%w: %s", err, p.stderr.last())
	}
	return p, nil
}

// await reads the next frame. When it does not come in time, or ctx ends, the
// process is killed.
func (p *process) await(ctx context.Context, patience time.Duration) (kind, []byte, error) {
	watchdog := time.AfterFunc(patience, func() {
		p.killed.Store(true)
		p.cmd.Process.Kill()
	})
	defer watchdog.Stop()
	k, payload, err := p.frames.read()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return k, payload, err
}

// end ends the process, whatever it is doing, and waits for it.
func (p *process) end() error {
	p.stdin.Close()
	p.cmd.Process.Kill()
	var exit *exec.ExitError
	if err := p.wait(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("ending a reader of PDF files: %w", err)
	}
	return nil
}

// signalled returns the signal that ended the process, if somebody else than
// its owner sent one. Nothing can be read from it any more.
func (p *process) signalled() (sig syscall.Signal, ok bool) {
	var late atomic.Bool
	watchdog := time.AfterFunc(endTime, func() {
		late.Store(true)
		p.cmd.Process.Kill()
	})
	defer watchdog.Stop()
	p.wait() // its error says less than the state
	if p.killed.Load() || late.Load() {
		return 0, false
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signal(), ok && status.Signaled()
}

// reading is the reading of one file, or of some of it, by one process.
type reading struct {
	*process
	config *Config
	spent  time.Duration // waiting for the process
	doc    Document
	pages  int // the last that was read
}

// open opens a file and tells what it says of itself.
func (r *reading) open(ctx context.Context, path string, maxPages int) (Document, error) {
	r.files++
	opened := false
	err := r.ask(ctx, request{path: path, maxPages: maxPages}, func(k kind, payload []byte) (err error) {
		if k != openedFrame || opened {
			return errUnasked
		}
		opened = true
		r.doc, err = decodeDocument(payload)
		return err
	})
	if err == nil && !opened {
		r.spoilt, err = true, r.broken()
	}
	return r.doc, err
}

// read reads the pages of a chunk.
func (r *reading) read(ctx context.Context, c *chunk) error {
	stop := context.AfterFunc(ctx, c.drop)
	defer stop()
	r.pages = c.first - 1
	err := r.ask(ctx, request{first: c.first, last: c.last}, func(k kind, payload []byte) error {
		page, err := decodePage(payload)
		if k != pageFrame || err != nil || page.Number != r.pages+1 || page.Number > c.last {
			return errUnasked
		}
		r.pages++
		c.put(page, len(payload))
		return nil
	})
	if err == nil && r.pages < c.last {
		r.spoilt, err = true, r.broken()
	}
	return err
}

// finish closes the file, after which the process may read another.
func (r *reading) finish(ctx context.Context) {
	r.ask(ctx, request{}, func(kind, []byte) error { return errUnasked })
}

// errUnasked says that a process answered what nobody asked.
var errUnasked = errors.New("an answer out of turn")

// ask sends one request and passes on what comes. It leaves the process
// spoilt unless it came to the end of its answer.
func (r *reading) ask(ctx context.Context, req request, answer func(kind, []byte) error) error {
	stop := context.AfterFunc(ctx, func() { r.cmd.Process.Kill() })
	defer stop()
	r.spoilt = true
	if err := r.frames.write(requestFrame, req.encode()); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Errorf(fault.Unavailable, "asking the reader of PDF files: %w", err)
	}
	for {
		begun := time.Now()
		k, payload, err := r.await(ctx, max(min(r.config.Time-r.spent, r.config.PageTime), time.Millisecond))
		r.spent += time.Since(begun) // what the visitor takes is not the file's fault
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return r.ended()
		}
		if err != nil {
			return r.broken()
		}
		switch k {
		case doneFrame:
			d := decoder{b: payload}
			r.resident = d.int()
			r.spoilt = d.end() != nil
			return nil
		case failedFrame:
			f, err := decodeFailure(payload)
			if err != nil {
				return r.broken()
			}
			r.spoilt = f.fatal
			return fault.Errorf(fault.Invalid, "%s", f.text)
		}
		if err := answer(k, payload); err != nil {
			return r.broken()
		}
	}
}

// ended says why a process ended in the middle of a file. One that was told to
// end, as all of a service are when it stops, says nothing of the file. Any
// other signal may be due to the file, as when the system is out of memory,
// or not: that is worth another try, not endless ones.
func (r *reading) ended() error {
	sig, ok := r.signalled()
	switch {
	case !ok:
		return r.broken()
	case sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGHUP:
		return fault.Errorf(fault.Unavailable, "the reader of PDF files was told to end: %v", sig)
	}
	return fmt.Errorf("the reader of PDF files was ended from outside: %v", sig)
}

// broken says why a process stopped in the middle of a file.
func (r *reading) broken() error {
	where := "before its first page was read"
	if r.pages > 0 {
		where = fmt.Sprintf("after page %d of %d", r.pages, r.doc.Pages)
	}
	switch {
	case r.killed.Load() && r.spent >= r.config.Time:
		return fault.Errorf(fault.Invalid, "reading the PDF took longer than %v and was stopped %s", r.config.Time, where)
	case r.killed.Load():
		return fault.Errorf(fault.Invalid, "a page of the PDF took longer than %v and its reading was stopped %s", min(r.config.PageTime, r.config.Time), where)
	}
	return fault.Errorf(fault.Invalid, "the PDF is damaged or needs too much memory; its reading stopped %s", where)
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 2 << 10
	t.b = append(t.b, p[max(0, len(p)-most):]...)
	if len(t.b) > most {
		t.b = append(t.b[:0], t.b[len(t.b)-most:]...)
	}
	return len(p), nil
}

// last returns it as one line. The process must have ended.
func (t *tail) last() string { return strings.Join(strings.Fields(string(t.b)), " ") }
