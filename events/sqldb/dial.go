package sqldb

import (
	"net"
	"strings"
	"syscall"
	"time"
)

// silence is how long a server's host may acknowledge nothing before a connection
// to it is closed: a host that lost power ends no connection, and by itself the
// system waits for a quarter of an hour.
const silence = 15 * time.Second

// dialer makes connections that end if the other host is unreachable.
func dialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence / 3, Interval: silence / 5, Count: 3},
		Control: func(network, _ string, conn syscall.RawConn) (err error) {
			if !strings.HasPrefix(network, "tcp") {
				return nil
			}
			if failed := conn.Control(func(fd uintptr) { err = setSilence(int(fd), silence) }); failed != nil {
				return failed
			}
			return err
		},
	}
}
