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

// Conn is one end of the connection between a program and a process that it
// started: a pair of sockets, which can also pass open files. One goroutine may read while
// another one writes.
type Conn struct {
	*ends
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte
}

// ends holds the buffers of a Conn.
type ends struct {
	socket *net.UnixConn
	oob    []byte

	mu    sync.Mutex
	files []*os.File // received and not yet taken
}

// maxReceived is how many files may wait to be taken: one goes with a request.
const maxReceived = 1

func newConn(f *os.File) (*Conn, error) {
	c, err := net.FileConn(f) // has a descriptor of its own
	if err != nil {
		return nil, err
	}
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("the connection is not a Unix socket"), c.Close())
	}
	e := &ends{socket: socket, oob: make([]byte, unix.CmsgSpace(4*maxReceived))}
	return &Conn{ends: e, r: bufio.NewReaderSize(e, 64<<10), w: bufio.NewWriterSize(socket, 64<<10)}, nil
}

// connect gives a command that is about to be started its end of a connection.
// inherited is to be closed once it was started.
func connect(cmd *exec.Cmd) (c *Conn, inherited []io.Closer, err error) {
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

// standard returns the end of the connection that this process was given.
func standard() (*Conn, error) {
	defer os.Stdin.Close()
	return newConn(os.Stdin)
}

// Send sends a frame at once, with a file.
func (c *Conn) Send(k Kind, payload []byte, file *os.File) error {
	if file != nil {
		if err := c.Flush(); err != nil {
			return err
		}
		// The file goes with the first byte of the frame.
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

// Read reads from the socket, and keeps the files that are received.
func (e *ends) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, oobn, _, _, err := e.socket.ReadMsgUnix(p, e.oob)
	if oobn > 0 {
		e.keep(e.oob[:oobn])
	}
	// A connection is reset if its other end was closed with bytes unread.
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

// file returns the file that came with a frame; the path is not needed.
func (e *ends) file(string) (*os.File, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.files) == 0 {
		return nil, errors.New("no file came with the request")
	}
	f := e.files[0]
	e.files = e.files[1:]
	return f, nil
}

// Close closes this end. The other end then reads io.EOF.
func (e *ends) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.files {
		f.Close()
	}
	e.files = nil
	return e.socket.Close()
}
