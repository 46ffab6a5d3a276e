package disk

import (
	"io/fs"
	"path/filepath"
)

// Used returns how many bytes the files of a database or folder have: the file at path with those that SQLite keeps
// beside it, or all files below the folder. Files that cannot be inspected, because they end meanwhile, do not count.
func Used(path string) (bytes int64) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = filepath.WalkDir(path+suffix, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
			return nil
		})
	}
	return bytes
}
