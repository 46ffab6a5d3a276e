package sqldb

import (
	"time"

	"golang.org/x/sys/unix"
)

// setAckTimeout bounds how long sent data may stay unacknowledged.
func setAckTimeout(fd int, d time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
}
