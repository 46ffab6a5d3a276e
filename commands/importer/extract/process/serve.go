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

// Frame is one that came to a process.
type Frame struct {
	Kind    Kind
	Payload []byte
}

// Server is the end of the connection within a process that a Pool started.
type Server struct {
	*Conn
	frames chan Frame
}

// Serve is what a process runs that a Pool started. It makes itself ready by
// prepare, which returns how many of the bytes it allocated are still untouched
// and will be used, enters its sandbox, which leaves it memory bytes to write to,
// and calls answer with each request, one after the other, until the program
// that started it closes the connection. If that happens in the middle of a
// request, the process exits, because its answer cannot be sent. An error of
// answer ends Serve.
func Serve(memory int64, prepare func() (reserved int64, err error), answer func(*Server, Frame) error) error {
	sandbox.Begin()
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 2)) // a file is read by one thread, beside the collector
	conn, err := standard()
	if err != nil {
		return fmt.Errorf("use the connection to the server: %w", err)
	}
	reserved, err := prepare()
	if err != nil {
		return err
	}
	if memory > 0 {
		debug.SetMemoryLimit(memory / 2) // collects before the system refuses more
	}
	startThreads()
	report := sandbox.Enter(sandbox.Rules{Memory: memory, Reserved: reserved})
	if err := conn.Send(Ready, encodeReport(report), nil); err != nil {
		return fmt.Errorf("report that the reader is ready: %w", err)
	}
	s := &Server{Conn: conn, frames: make(chan Frame)}
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
		if err := answer(s, request); err != nil {
			return err
		}
		busy.Store(false)
	}
}

// startThreads starts the threads that Go may need later and keeps. The system
// counts the whole stack of each, some 8 MiB, as memory when it starts.
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

// receive passes on what comes, to the end of the connection.
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

// Next waits for the next frame; ok is false at the end of the connection. An
// answer calls it for what comes after its request.
func (s *Server) Next() (f Frame, ok bool) {
	f, ok = <-s.frames
	return f, ok
}

// File returns the file that came beside a request, which names its path where
// files do not come by themselves.
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
		return r, errors.New("its report cannot be read")
	}
	return r, nil
}
