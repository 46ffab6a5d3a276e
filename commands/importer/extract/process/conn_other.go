//go:build !linux

package process

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
)

// Conn is one end of the connection between a program and a process that it
// started: a pipe each way. Open files do not go through it; the process opens
// them by their paths. One goroutine may read while another one writes.
type Conn struct {
	*ends
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte
}

// ends holds the buffers of a Conn.
type ends struct {
	in, out *os.File
}

func newConn(in, out *os.File) *Conn {
	return &Conn{ends: &ends{in, out}, r: bufio.NewReaderSize(in, 64<<10), w: bufio.NewWriterSize(out, 64<<10)}
}

// connect gives a command that is about to be started its end of a connection.
// inherited is to be closed once it was started.
func connect(cmd *exec.Cmd) (c *Conn, inherited []io.Closer, err error) {
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

// standard returns the end of the connection that this process was given.
func standard() (*Conn, error) { return newConn(os.Stdin, os.Stdout), nil }

// Send sends a frame at once. The file is named in it by its path.
func (c *Conn) Send(k Kind, payload []byte, _ *os.File) error {
	if err := c.Write(k, payload); err != nil {
		return err
	}
	return c.Flush()
}

// file opens the file that a frame names.
func (e *ends) file(path string) (*os.File, error) { return os.Open(path) }

// Close closes this end. The other end then reads io.EOF.
func (e *ends) Close() error { return errors.Join(e.in.Close(), e.out.Close()) }
