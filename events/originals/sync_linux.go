package originals

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const canSyncAll = true

// syncAll makes everything on the file system of a folder durable. It waits
// for the bytes to be on the disk, and reports what could not be written
// (since Linux 5.8).
func syncAll(root string) error {
	f, err := os.Open(root)
	if err != nil {
		return diskError(err)
	}
	return diskError(errors.Join(unix.Syncfs(int(f.Fd())), f.Close()))
}
