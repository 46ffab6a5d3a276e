package postgres

import (
	"net"
	"strings"
	"syscall"
	"time"
)

// silence is for how long a server's host may answer nothing, not even that it
// received something, until a connection to it is given up: one that vanished
// ends no connection, and the system by itself waits for a quarter of an hour.
const silence = 15 * time.Second

// dialer makes connections that end where the other side is gone.
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
