package sqldb

import (
	"net"
	"strings"
	"syscall"
	"time"
)

// ackTimeout is how long sent data may stay unacknowledged before the connection is
// closed. If the remote host loses power, it does not close its connections. By default
// the operating system would notice that only after a quarter of an hour.
const ackTimeout = 15 * time.Second

// dialer returns a dialer whose connections fail after ackTimeout if the host is
// unreachable.
func dialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: ackTimeout / 3, Interval: ackTimeout / 5, Count: 3},
		Control: func(network, _ string, conn syscall.RawConn) (err error) {
			if !strings.HasPrefix(network, "tcp") {
				return nil
			}
			if failed := conn.Control(func(fd uintptr) { err = setAckTimeout(int(fd), ackTimeout) }); failed != nil {
				return failed
			}
			return err
		},
	}
}
