package sqldb

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// A connection fails soon after its remote host has lost power and sends nothing, not
// even a reset.
func TestConnectionToDeadHostTimesOut(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := ParsePostgres("postgres://me@" + l.Addr().String() + "/db")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.config.DialFunc(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[int]int{
		unix.TCP_USER_TIMEOUT: int(ackTimeout.Milliseconds()), unix.TCP_KEEPIDLE: 5, unix.TCP_KEEPINTVL: 3, unix.TCP_KEEPCNT: 3,
	} {
		var got int
		failed := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option) })
		if failed != nil || err != nil || got != want {
			t.Errorf("socket option %d: got %d (%v, %v), want %d", option, got, failed, err, want)
		}
	}
}
