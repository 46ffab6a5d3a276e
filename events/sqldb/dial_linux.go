package sqldb

import (
	"time"

	"golang.org/x/sys/unix"
)

// setSilence bounds how long what was sent may stay without an acknowledgement.
func setSilence(fd int, d time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
}
