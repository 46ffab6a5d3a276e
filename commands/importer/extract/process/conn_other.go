//go:build !linux

package process

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
)

// conn is one end of the connection between a program and a process that it started: a pipe
// in each direction. It cannot pass open files, so the process opens files by their paths.
// One goroutine may read while another writes.
type conn struct {
	*ends
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte
}

// ends are the pipes of a conn.
type ends struct {
	in, out *os.File
}

func newConn(in, out *os.File) *conn {
	return &conn{ends: &ends{in, out}, r: bufio.NewReaderSize(in, 64<<10), w: bufio.NewWriterSize(out, 64<<10)}
}

// connect creates a connection for a command that is not started yet. Close inherited after
// the start.
func connect(cmd *exec.Cmd) (c *conn, inherited []io.Closer, err error) {
	theirIn, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, theirIn.Close(), out.Close())
	}
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	return newConn(in, out), []io.Closer{theirIn, theirOut}, nil
}

// standard returns this process's end of the connection: standard input and output.
func standard() (*conn, error) { return newConn(os.Stdin, os.Stdout), nil }

// Send sends a frame and flushes the buffer. It ignores the open file: the process opens the
// path in the payload.
func (c *conn) Send(k Kind, payload []byte, _ *os.File) error {
	if err := c.Write(k, payload); err != nil {
		return err
	}
	return c.Flush()
}

// file opens the file at path.
func (e *ends) file(path string) (*os.File, error) { return os.Open(path) }

// Close closes this end of the connection. The other process then reads io.EOF.
func (e *ends) Close() error { return errors.Join(e.in.Close(), e.out.Close()) }
