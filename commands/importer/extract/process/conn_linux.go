package process

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// conn is one end of the connection between a program and a process that it started: a pair
// of sockets, which can also pass open files. One goroutine may read while another writes.
type conn struct {
	*ends
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte
}

// ends is the socket of a conn.
type ends struct {
	socket *net.UnixConn
	oob    []byte

	mu    sync.Mutex
	files []*os.File // received files that file has not returned yet
}

const maxReceived = 1 // received files that may wait for a call of file; each request has one file

func newConn(f *os.File) (*conn, error) {
	c, err := net.FileConn(f) // duplicates the descriptor
	if err != nil {
		return nil, err
	}
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("open the connection: not a Unix socket"), c.Close())
	}
	e := &ends{socket: socket, oob: make([]byte, unix.CmsgSpace(4*maxReceived))}
	return &conn{ends: e, r: bufio.NewReaderSize(e, 64<<10), w: bufio.NewWriterSize(socket, 64<<10)}, nil
}

// connect creates a connection for a command that is not started yet. Close inherited after
// the start.
func connect(cmd *exec.Cmd) (c *conn, inherited []io.Closer, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "reader"), os.NewFile(uintptr(pair[1]), "reader")
	defer ours.Close()
	if c, err = newConn(ours); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	cmd.Stdin = theirs
	return c, []io.Closer{theirs}, nil
}

// standard returns this process's end of the connection, its standard input.
func standard() (*conn, error) {
	defer os.Stdin.Close()
	return newConn(os.Stdin)
}

// Send sends a frame, with a file unless it is nil, and flushes the buffer.
func (c *conn) Send(k Kind, payload []byte, file *os.File) error {
	if file != nil {
		if err := c.Flush(); err != nil {
			return err
		}
		// The file is passed with the first byte of the frame.
		raw, err := file.SyscallConn()
		if err != nil {
			return err
		}
		var sent error
		err = raw.Control(func(fd uintptr) {
			_, _, sent = c.socket.WriteMsgUnix([]byte{byte(k)}, unix.UnixRights(int(fd)), nil)
		})
		if err = errors.Join(err, sent); err != nil {
			return err
		}
		if err := c.writeRest(payload); err != nil {
			return err
		}
		return c.Flush()
	}
	if err := c.Write(k, payload); err != nil {
		return err
	}
	return c.Flush()
}

// Read reads from the socket. It stores the open files that it receives; the method file
// returns them.
func (e *ends) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, oobn, _, _, err := e.socket.ReadMsgUnix(p, e.oob)
	if oobn > 0 {
		e.keep(e.oob[:oobn])
	}
	// The connection is reset if the other process closed its end before it had read
	// everything.
	if n == 0 && err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
	}
	return max(n, 0), err
}

func (e *ends) keep(oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		e.mu.Lock()
		for _, fd := range fds {
			f := os.NewFile(uintptr(fd), "input")
			if len(e.files) >= maxReceived {
				f.Close()
				continue
			}
			e.files = append(e.files, f)
		}
		e.mu.Unlock()
	}
}

// file returns the first received file that it has not returned yet. It ignores the path.
func (e *ends) file(string) (*os.File, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.files) == 0 {
		return nil, errors.New("the request was sent without a file")
	}
	f := e.files[0]
	e.files = e.files[1:]
	return f, nil
}

// Close closes this end of the connection. The other process then reads io.EOF.
func (e *ends) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.files {
		f.Close()
	}
	e.files = nil
	return e.socket.Close()
}
