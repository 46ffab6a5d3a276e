package originals

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const canSyncAll = true

// syncAll makes all files on the file system of a folder durable. Since Linux 5.8 it also
// reports write errors.
func syncAll(root string) error {
	f, err := os.Open(root)
	if err != nil {
		return diskError(err)
	}
	return diskError(errors.Join(unix.Syncfs(int(f.Fd())), f.Close()))
}
