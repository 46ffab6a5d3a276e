// Package pages shows pages of originals: as pictures, and as words with their boxes. It keeps
// what was computed in a Cache on disk. It imports extract, events/fault and events/originals.
package pages

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// touchAfter is the age of an entry's last use from which a further use is noted.
	touchAfter = time.Minute
	// abandonedAfter is the age of a temporary file from which it is left over from a crash.
	abandonedAfter = time.Hour
	// block is the size, in bytes, up to which the size of a file is rounded, as on a disk.
	block = 4 << 10
)

// Cache stores what was computed of pages in a folder: values by the SHA-256 of an original and
// a key. If there are too many bytes it removes the values that were not used for longest.
// Several processes may share the folder, and a crash leaves no damaged value. Nothing is
// synced: what a power failure destroys is computed again. A nil Cache stores nothing. A Cache
// is safe for concurrent use.
type Cache struct {
	dir   string
	limit int64

	mu    sync.Mutex // held while values are removed
	size  int64      // bytes found in the folder last time, and stored since
	added int64      // bytes stored since the folder was searched
}

// OpenCache opens the cache in the folder dir, which it creates if necessary. limit is its
// maximum size in bytes; each further process that shares the folder may exceed it by a
// sixteenth for a short time. If limit is 0, OpenCache empties the folder and returns nil.
func OpenCache(dir string, limit int64) (*Cache, error) {
	if limit <= 0 {
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("empty the cache of pages: %w", err)
		}
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the cache of pages: %w", err)
	}
	c := &Cache{dir: dir, limit: limit}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.shrink(limit)
}

// folder returns the folder of the values of an original.
func (c *Cache) folder(original string) (string, error) {
	if len(original) != 64 || strings.Trim(original, "0123456789abcdef") != "" {
		return "", fmt.Errorf("find the cached pages of an original: %.80q is not a SHA-256 in lower-case hex", original)
	}
	return filepath.Join(c.dir, original[:2], original), nil
}

// path returns the path of a value. Keys may contain any characters.
func (c *Cache) path(original, key string) (string, error) {
	folder, err := c.folder(original)
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(folder, hex.EncodeToString(sum[:16])), err
}

// Get returns the value that was stored last for an original and a key. ok is false if there is
// none.
func (c *Cache) Get(original, key string) (value []byte, ok bool) {
	if c == nil {
		return nil, false
	}
	path, err := c.path(original, key)
	if err != nil {
		return nil, false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	if len(b) < crc32.Size || binary.LittleEndian.Uint32(b) != crc32.Checksum(b[crc32.Size:], castagnoli) {
		os.Remove(path)
		return nil, false
	}
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(path, now, now) // without it, the value is only removed earlier
	}
	return b[crc32.Size:], true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Put stores a value.
func (c *Cache) Put(original, key string, value []byte) error {
	if c == nil {
		return nil
	}
	path, err := c.path(original, key)
	if err != nil {
		return err
	}
	size := onDisk(int64(crc32.Size + len(value)))
	if size > c.limit/2 {
		return nil // it would take the place of everything else
	}
	if err := write(path, value); err != nil {
		return fmt.Errorf("store a page in the cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += size
	if c.added += size; c.size <= c.limit && c.added <= c.limit/16 {
		return nil
	}
	return c.shrink(c.limit)
}

// write writes a file with a checksum. Other processes see the whole file or none.
func write(path string, value []byte) error {
	for attempt := 0; ; attempt++ {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err := os.CreateTemp(filepath.Dir(path), temporary+"*")
		if errors.Is(err, fs.ErrNotExist) && attempt < 3 {
			continue // another process has just removed the empty folder
		}
		if err != nil {
			return err
		}
		var sum [crc32.Size]byte
		binary.LittleEndian.PutUint32(sum[:], crc32.Checksum(value, castagnoli))
		_, err = f.Write(sum[:])
		if err == nil {
			_, err = f.Write(value)
		}
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			os.Remove(f.Name())
		}
		return err
	}
}

// temporary is the prefix of files that are being written.
const temporary = ".new-"

func onDisk(size int64) int64 { return (size + block - 1) / block * block }

// file is a file of the cache.
type file struct {
	path string
	size int64
	used time.Time
}

// shrink searches the folder and, if the values take more than limit bytes, removes those that
// were not used for longest until they take seven eighths of it.
func (c *Cache) shrink(limit int64) error {
	files, err := c.files()
	if err != nil {
		return err
	}
	c.size, c.added = 0, 0
	for _, f := range files {
		c.size += f.size
	}
	if c.size <= limit {
		return nil
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if c.size <= limit/8*7 {
			break
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a page from the cache: %w", err)
		}
		c.size -= f.size
		folder := filepath.Dir(f.path)
		_ = os.Remove(folder) // succeeds only if it is empty
		_ = os.Remove(filepath.Dir(folder))
	}
	return nil
}

// files returns all values, and removes temporary files that a crash has left.
func (c *Cache) files() (all []file, err error) {
	err = filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return unlessGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return unlessGone(err)
		}
		if strings.HasPrefix(entry.Name(), temporary) {
			if time.Since(info.ModTime()) > abandonedAfter {
				return unlessGone(os.Remove(path))
			}
			return nil
		}
		all = append(all, file{path, onDisk(info.Size()), info.ModTime()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search the cache of pages: %w", err)
	}
	return all, nil
}

// unlessGone returns err, or nil if another process has removed the file.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Sweep removes the values of originals that nothing refers to any more.
func (c *Cache) Sweep(ctx context.Context, referred func(ctx context.Context, original string) (bool, error)) error {
	if c == nil {
		return nil
	}
	folders, err := filepath.Glob(filepath.Join(c.dir, "??", "*"))
	if err != nil {
		return fmt.Errorf("search the cache of pages: %w", err)
	}
	for _, folder := range folders {
		original := filepath.Base(folder)
		if known, err := c.folder(original); err != nil || known != folder {
			continue // not a folder of this cache
		}
		used, err := referred(ctx, original)
		if err != nil {
			return err
		}
		if used {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove the pages of a deleted original from the cache: %w", err)
		}
		_ = os.Remove(filepath.Dir(folder)) // succeeds only if it is empty
	}
	return nil
}
