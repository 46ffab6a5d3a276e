package sqldb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"annals/events/fault"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestErrorClasses(t *testing.T) {
	for _, test := range []struct {
		err                     error
		transient, disconnected bool
	}{
		{nil, false, false},
		{io.ErrUnexpectedEOF, true, true},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true, false},
		{&pgconn.PgError{Code: "57P01"}, true, true},  // terminated by an administrator
		{&pgconn.PgError{Code: "57P03"}, true, false}, // the server is starting
		{&pgconn.PgError{Code: "53100"}, true, false}, // its disk is full
		{&pgconn.PgError{Code: "40P01"}, true, false}, // a deadlock
		{&pgconn.PgError{Code: "22012"}, false, false},
		{&pgconn.PgError{Code: "42P01"}, false, false},
		{&fs.PathError{Op: "open", Path: "file", Err: syscall.ENOENT}, false, false}, // error of a file, not of the network
		{errors.New("another"), false, false},
	} {
		err := test.err
		if err != nil {
			err = fmt.Errorf("tried: %w", err)
		}
		if got := IsTransient(err); got != test.transient {
			t.Errorf("IsTransient(%v) = %t, want %t", err, got, test.transient)
		}
		if got := IsDisconnected(err); got != test.disconnected {
			t.Errorf("IsDisconnected(%v) = %t, want %t", err, got, test.disconnected)
		}
		if got := fault.Is(Classify(err), fault.Unavailable); got != test.transient {
			t.Errorf("Classify(%v): unavailable %t, want %t", err, got, test.transient)
		}
	}
}

// A refused login has another message than an unreachable server. Otherwise an operator
// who set the wrong password would search for a network problem.
func TestRefusedLoginIsNotUnreachable(t *testing.T) {
	for code, want := range map[string]string{
		"28P01": "the database refuses the connection", // wrong password
		"3D000": "the database refuses the connection", // no such database
		"57P03": "the database does not respond at the moment",
	} {
		if got := Classify(&pgconn.PgError{Code: code}).Error(); got != want {
			t.Errorf("Classify of code %s: got %q, want %q", code, got, want)
		}
	}
}
