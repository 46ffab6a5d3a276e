//go:build !linux

package sqldb

import "time"

// setAckTimeout does nothing: the option exists on Linux only.
func setAckTimeout(int, time.Duration) error { return nil }
