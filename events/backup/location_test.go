package backup_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/events/backup"
	"annals/events/s3"
	"annals/events/s3/s3test"
)

// target is a backup location for tests, with direct access to its files. File names are
// paths with slashes.
type target interface {
	location() backup.Location
	original(text string) string // file name of the original with that text
	read(name string) []byte
	write(name string, content []byte)
	remove(name string)
	listing() map[string]string // size and date of every file
	empty() target              // a new location of the same kind
	clone() target              // a new location with the same files
}

// inEveryLocation runs a test two times: with a backup in a folder, and with one in a
// bucket.
func inEveryLocation(t *testing.T, test func(t *testing.T, v *vault)) {
	t.Parallel()
	for name, at := range map[string]func(*testing.T) target{
		"folder": func(t *testing.T) target { return newFolder(t) },
		"bucket": func(t *testing.T) target { return newBucket(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newVault(t, at(t)))
		})
	}
}

// folder is a target in the file system.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T) *folder {
	return &folder{t, filepath.Join(t.TempDir(), "backup")}
}

func (f *folder) empty() target               { return newFolder(f.t) }
func (f *folder) location() backup.Location   { return backup.Folder(f.dir) }
func (f *folder) original(text string) string { return filepath.ToSlash(path("originals", text)) }
func (f *folder) path(name string) string     { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *folder) clone() target {
	to := newFolder(f.t)
	if err := os.CopyFS(to.dir, os.DirFS(f.dir)); err != nil {
		f.t.Fatal(err)
	}
	return to
}

func (f *folder) read(name string) []byte {
	content, err := os.ReadFile(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return content
}

func (f *folder) write(name string, content []byte) {
	err := os.MkdirAll(filepath.Dir(f.path(name)), 0o700)
	if err == nil {
		err = os.WriteFile(f.path(name), content, 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) remove(name string) {
	if err := os.Remove(f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) listing() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		name, errRel := filepath.Rel(f.dir, path)
		if err == nil {
			all[filepath.ToSlash(name)] = fmt.Sprint(info.Size(), info.ModTime())
			err = errRel
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// bucket is a target in S3.
type bucket struct {
	t *testing.T
	b *s3.Bucket
}

func newBucket(t *testing.T) *bucket { return &bucket{t, s3test.Open(t, s3test.URL(t))} }

func (b *bucket) empty() target               { return newBucket(b.t) }
func (b *bucket) location() backup.Location   { return backup.NewBucket(b.b) }
func (b *bucket) original(text string) string { return "originals/" + sum(text) }

func (b *bucket) clone() target {
	to := newBucket(b.t)
	for name := range b.listing() {
		to.write(name, b.read(name))
	}
	return to
}

func (b *bucket) read(name string) []byte {
	o, err := b.b.Open(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	defer o.Close()
	content, err := io.ReadAll(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

func (b *bucket) write(name string, content []byte) {
	if err := b.b.Put(b.t.Context(), name, bytes.NewReader(content), int64(len(content))); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bucket) remove(name string) {
	if err := b.b.Remove(b.t.Context(), name); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bucket) listing() map[string]string {
	all := map[string]string{}
	for o, err := range b.b.List(b.t.Context(), "", true) {
		if err != nil {
			b.t.Fatal(err)
		}
		all[o.Name] = fmt.Sprint(o.Size, o.Modified, o.ETag)
	}
	return all
}

// flip changes a bit of a file.
func flip(g target, name string, at int) {
	content := g.read(name)
	content[at] ^= 1
	g.write(name, content)
}

// forgeDigest replaces the digest in the manifest.
func forgeDigest(g target) {
	before, after, _ := strings.Cut(string(g.read("manifest.json")), `"digest": "`)
	g.write("manifest.json", []byte(before+`"digest": "`+strings.Repeat("0", 64)+after[64:]))
}
