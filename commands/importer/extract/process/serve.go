package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"annals/commands/importer/extract/sandbox"
)

// Frame is a received frame.
type Frame struct {
	Kind    Kind
	Payload []byte
}

// Server is a process's connection to the Pool that started the process.
type Server struct {
	*conn
	frames chan Frame
}

// Serve runs in a process that a Pool started. It calls prepare, which returns how many bytes
// it has allocated but not touched yet, and enters the sandbox with a limit of memory bytes.
// Then it calls respond for each request until the connection is closed or respond returns an
// error. If the connection is closed during a request, the process exits, because it cannot
// send the response.
func Serve(memory int64, prepare func() (reserved int64, err error), respond func(*Server, Frame) error) error {
	return serve(sandbox.Rules{Memory: memory}, prepare, respond)
}

// ServeProgram is like Serve, but the process may execute a program, which may have memory
// bytes of memory itself.
func ServeProgram(memory int64, program *sandbox.Program, prepare func() (reserved int64, err error), respond func(*Server, Frame) error) error {
	return serve(sandbox.Rules{Memory: memory, Program: program}, prepare, respond)
}

func serve(rules sandbox.Rules, prepare func() (reserved int64, err error), respond func(*Server, Frame) error) error {
	if rules.Program != nil {
		sandbox.BeginProgram()
	} else {
		sandbox.Begin()
	}
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 2)) // one for reading a file, one for garbage collection
	conn, err := standard()
	if err != nil {
		return fmt.Errorf("open the connection to the service: %w", err)
	}
	if rules.Reserved, err = prepare(); err != nil {
		return err
	}
	if rules.Memory > 0 {
		debug.SetMemoryLimit(rules.Memory / 2) // collect garbage before the system refuses memory
	}
	startThreads()
	report := sandbox.Enter(rules)
	if err := conn.Send(Ready, encodeReport(report), nil); err != nil {
		return fmt.Errorf("report that the reader is ready: %w", err)
	}
	s := &Server{conn: conn, frames: make(chan Frame)}
	var busy atomic.Bool
	failed := make(chan error, 1)
	go func() {
		defer close(s.frames)
		failed <- s.receive()
		if busy.Load() {
			os.Exit(1)
		}
	}()
	for {
		request, ok := s.Next()
		if !ok {
			return <-failed
		}
		busy.Store(true)
		if err := respond(s, request); err != nil {
			return err
		}
		busy.Store(false)
	}
}

// startThreads starts the threads that Go may need later, before the memory limit is set. The
// system counts the whole stack of a new thread, about 8 MiB, against the limit.
func startThreads() {
	const threads = 12
	var started, ended sync.WaitGroup
	started.Add(threads)
	for range threads {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			started.Wait()
		})
	}
	ended.Wait()
}

// receive sends frames to the channel until the connection is closed.
func (s *Server) receive() error {
	for {
		k, payload, err := s.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		s.frames <- Frame{k, slices.Clone(payload)}
	}
}

// Next waits for the next frame. ok is false if the connection was closed. The function
// respond calls Next to get the frames that follow its request.
func (s *Server) Next() (f Frame, ok bool) {
	f, ok = <-s.frames
	return f, ok
}

// File returns the file that was passed with a request. On systems that cannot pass files it
// opens path.
func (s *Server) File(path string) (*os.File, error) { return s.file(path) }

func encodeReport(r sandbox.Report) []byte {
	var e Encoder
	for _, list := range [][]string{r.Holds, r.Lacks} {
		e.Int(len(list))
		for _, measure := range list {
			e.Text(measure)
		}
	}
	return e.B
}

func decodeReport(b []byte) (r sandbox.Report, err error) {
	d := Decoder{B: b}
	for _, list := range []*[]string{&r.Holds, &r.Lacks} {
		for range d.Count(1) {
			*list = append(*list, d.Text())
		}
	}
	if d.End() != nil {
		return r, errors.New("decode its sandbox report: it is malformed")
	}
	return r, nil
}
