package originals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"
)

// maxStaged is the age at which a staged file is removed, which a crash may have left
// behind.
const maxStaged = 24 * time.Hour

// upload is a received file in a staging folder. The file is not kept open, because a
// request may have thousands of files.
type upload struct {
	sha256 string
	size   int64

	mu        sync.Mutex
	path      string
	done      bool // committed or discarded
	committed bool
}

// SHA256 returns the SHA-256 of the bytes.
func (u *upload) SHA256() string { return u.sha256 }

// Size returns the number of bytes.
func (u *upload) Size() int64 { return u.size }

// Discard removes the file.
func (u *upload) Discard() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done {
		return nil
	}
	u.done = true
	return u.remove()
}

// stage streams r to a new file in a folder while hashing it.
func stage(ctx context.Context, folder string, r io.Reader, limit int64) (*upload, error) {
	f, err := os.CreateTemp(folder, "")
	if err != nil {
		return nil, diskError(err)
	}
	u := &upload{path: f.Name()}
	hash := sha256.New()
	u.size, err = copyBounded(ctx, io.MultiWriter(f, hash), r, limit)
	if err = errors.Join(err, diskError(f.Close())); err != nil {
		return nil, errors.Join(err, u.remove())
	}
	u.sha256 = hex.EncodeToString(hash.Sum(nil))
	failpoint.Here(failpoint.OriginalStaged)
	return u, nil
}

// remove removes the file, if it exists.
func (u *upload) remove() error {
	if err := os.Remove(u.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskError(err)
	}
	return nil
}

// copyBounded copies src to dst. If there are more than limit bytes, the error is
// fault.TooLarge.
func copyBounded(ctx context.Context, dst io.Writer, src io.Reader, limit int64) (size int64, err error) {
	buf := make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return size, fmt.Errorf("stage the upload: %w", err)
		}
		n, err := src.Read(buf)
		if size += int64(n); size > limit {
			return size, fault.Errorf(fault.TooLarge, "the file is larger than %d bytes", limit)
		}
		if _, werr := dst.Write(buf[:n]); werr != nil {
			return size, diskError(werr)
		}
		switch {
		case err == io.EOF:
			return size, nil
		case err != nil:
			return size, fmt.Errorf("read the upload: %w", err)
		}
	}
}

// sweepStaged removes files that were last written before a time from a staging folder.
func sweepStaged(folder string, before time.Time) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("list the staged uploads: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(before) {
			continue
		}
		if err == nil {
			err = os.Remove(filepath.Join(folder, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an abandoned upload: %w", err)
		}
		failpoint.Here(failpoint.StagingSwept)
	}
	return nil
}
