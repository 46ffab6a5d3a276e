package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// original returns the nth name of an original.
func original(n int) string { return fmt.Sprintf("%064x", n) }

func openCache(t *testing.T, dir string, limit int64) *Cache {
	t.Helper()
	c, err := OpenCache(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t *testing.T, c *Cache, original, key string, value []byte) {
	t.Helper()
	if err := c.Put(original, key, value); err != nil {
		t.Fatal(err)
	}
}

// has reports whether the cache has a value, without marking it as used.
func has(t *testing.T, c *Cache, original, key string) bool {
	t.Helper()
	path, err := c.path(original, key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(path)
	return err == nil
}

// age makes a value look as if it was used last some time ago.
func age(t *testing.T, c *Cache, original, key string, by time.Duration) {
	t.Helper()
	path, err := c.path(original, key)
	if err == nil {
		err = os.Chtimes(path, time.Now().Add(-by), time.Now().Add(-by))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bytesIn returns the size of all files in a folder.
func bytesIn(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := (&Cache{dir: dir}).files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		n += f.size
	}
	return n
}

func TestCacheKeepsValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "pages")
	c := openCache(t, dir, 1<<20)
	if v, ok := c.Get(original(1), "3"); ok {
		t.Errorf("Get from an empty cache = %q", v)
	}
	for i, key := range []string{"3", "3/../4", strings.Repeat("k", 1000), ""} {
		put(t, c, original(1), key, []byte(fmt.Sprint("old ", i)))
		put(t, c, original(1), key, []byte(fmt.Sprint("value ", i)))
	}
	put(t, c, original(2), "3", nil)
	c = openCache(t, dir, 1<<20) // after a restart
	for i, key := range []string{"3", "3/../4", strings.Repeat("k", 1000), ""} {
		if v, ok := c.Get(original(1), key); !ok || string(v) != fmt.Sprint("value ", i) {
			t.Errorf("Get(%.10q) = %q, %t", key, v, ok)
		}
	}
	if v, ok := c.Get(original(2), "3"); !ok || len(v) != 0 {
		t.Errorf("Get of an empty value = %q, %t", v, ok)
	}
	for _, name := range []string{"", "../../x", strings.Repeat("A", 64)} {
		if err := c.Put(name, "3", nil); err == nil {
			t.Errorf("Put for the original %q succeeded", name)
		}
		if _, ok := c.Get(name, "3"); ok {
			t.Errorf("Get for the original %q succeeded", name)
		}
	}
}

// A damaged file, as a power failure may leave it, is no value.
func TestCacheDetectsDamage(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"cut off":   func(b []byte) []byte { return b[:len(b)-1] },
		"zeroed":    func(b []byte) []byte { return make([]byte, len(b)) },
		"one byte":  func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"no values": func(b []byte) []byte { return b[:3] },
	} {
		c := openCache(t, t.TempDir(), 1<<20)
		put(t, c, original(1), "k", []byte("value"))
		path, _ := c.path(original(1), "k")
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, damage(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := c.Get(original(1), "k"); ok {
			t.Errorf("%s: Get = %q", name, v)
		}
		put(t, c, original(1), "k", []byte("value"))
		if _, ok := c.Get(original(1), "k"); !ok {
			t.Errorf("%s: no value after it was stored again", name)
		}
	}
}

// Beyond its limit the cache removes the values that were not used for longest.
func TestCacheIsBounded(t *testing.T) {
	const limit, entry = 1 << 20, 16<<10 - 8 // 64 entries
	dir := t.TempDir()
	c := openCache(t, dir, limit)
	for i := range 60 {
		put(t, c, original(i), "k", make([]byte, entry))
		age(t, c, original(i), "k", time.Hour-time.Duration(i)*time.Second)
	}
	for i := range 10 {
		if _, ok := c.Get(original(i), "k"); !ok { // used again
			t.Fatalf("value %d is missing", i)
		}
	}
	for i := range 8 {
		put(t, c, original(100+i), "k", make([]byte, entry))
		if n := bytesIn(t, dir); n > limit {
			t.Errorf("%d bytes in the cache, want at most %d", n, limit)
		}
	}
	for i := range 10 {
		if !has(t, c, original(i), "k") {
			t.Errorf("value %d was used recently, and was removed", i)
		}
	}
	if has(t, c, original(10), "k") || !has(t, c, original(59), "k") || !has(t, c, original(107), "k") {
		t.Error("the wrong values were removed")
	}
	if _, err := os.Stat(filepath.Join(dir, "00", original(10))); err == nil {
		t.Error("the folder of a removed value is still there")
	}
	put(t, c, original(200), "k", make([]byte, limit))
	if has(t, c, original(200), "k") {
		t.Error("a value that is as large as the cache was stored")
	}
	openCache(t, dir, limit/4)
	if n := bytesIn(t, dir); n > limit/4 {
		t.Errorf("%d bytes after the cache was opened with the limit %d", n, limit/4)
	}
	if c = openCache(t, dir, 0); c != nil {
		t.Error("there is a cache with the limit 0")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is still there with the limit 0")
	}
	put(t, c, original(1), "k", []byte("x"))
	if _, ok := c.Get(original(1), "k"); ok || c.Sweep(t.Context(), nil) != nil {
		t.Error("a nil Cache has a value")
	}
}

// Several processes may use one folder, here several Caches.
func TestCacheIsShared(t *testing.T) {
	const limit, entry, users, rounds = 1 << 20, 12 << 10, 4, 150
	dir := t.TempDir()
	var group sync.WaitGroup
	for user := range users {
		c := openCache(t, dir, limit)
		group.Go(func() {
			for i := range rounds {
				n := (user*7 + i) % 200
				want := bytes.Repeat([]byte{byte(n)}, entry)
				if err := c.Put(original(n), "k", want); err != nil {
					t.Error(err)
				}
				if v, ok := c.Get(original(n), "k"); ok && !bytes.Equal(v, want) {
					t.Errorf("Get(%d) has another value", n)
				}
			}
		})
	}
	group.Wait()
	if n := bytesIn(t, dir); n > limit+users*limit/16 {
		t.Errorf("%d bytes in the cache, want at most %d and a sixteenth for each process", n, limit)
	}
}

// Temporary files are removed when they are old, and no file is left by a failed write.
func TestCacheRemovesTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 1<<20)
	put(t, c, original(1), "k", []byte("value"))
	folder, _ := c.folder(original(1))
	for name, age := range map[string]time.Duration{".new-old": 2 * abandonedAfter, ".new-young": 0} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(path, time.Now().Add(-age), time.Now().Add(-age))
	}
	openCache(t, dir, 1<<20)
	left, _ := filepath.Glob(filepath.Join(folder, ".new-*"))
	if len(left) != 1 || filepath.Base(left[0]) != ".new-young" {
		t.Errorf("temporary files %q, want only the young one", left)
	}
}

// The values of originals that nothing refers to are removed.
func TestCacheSweep(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 1<<20)
	for i := range 4 {
		put(t, c, original(i), "a", []byte("x"))
		put(t, c, original(i), "b", []byte("x"))
	}
	if err := os.WriteFile(filepath.Join(dir, "00", "note"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := c.Sweep(t.Context(), func(_ context.Context, sum string) (bool, error) { return sum == original(2), nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if got := has(t, c, original(i), "a") || has(t, c, original(i), "b"); got != (i == 2) {
			t.Errorf("after Sweep, there are values of original %d: %t", i, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "00", "note")); err != nil {
		t.Errorf("Sweep removed a file that is not of the cache: %v", err)
	}
	failed := errors.New("no database")
	if err := c.Sweep(t.Context(), func(context.Context, string) (bool, error) { return false, failed }); err != failed {
		t.Errorf("Sweep = %v, want %v", err, failed)
	}
	if !has(t, c, original(2), "a") {
		t.Error("Sweep removed a value although it is unknown whether something refers to its original")
	}
}
