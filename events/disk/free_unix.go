//go:build unix

package disk

import (
	"math"

	"golang.org/x/sys/unix"
)

var full = []error{unix.ENOSPC, unix.EDQUOT}

func free(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	// The types of Bavail and Bsize differ between systems. Some systems report a
	// negative number of free blocks while the reserve for root is in use.
	blocks, size := int64(s.Bavail), uint64(s.Bsize)
	return int64(min(uint64(max(0, blocks))*size, math.MaxInt64)), nil
}
