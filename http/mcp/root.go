package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"annals/events/fault"
)

// root is the absolute path of a folder on this machine's disk. Files in it and below it may
// be imported.
type root string

// Errors for refused files. For a path outside the roots the error is always errOutside, so
// that it does not reveal whether a file exists.
var (
	errOutside = fault.Errorf(fault.Forbidden, "it is not below a folder that files may be imported from")
	errLink    = fault.Errorf(fault.Forbidden, "links are not followed")
	errLinked  = fault.Errorf(fault.Forbidden, "it has several hard links, and links are not followed")
	errUnclean = fault.Errorf(fault.Invalid, "the path of a file must not end with a slash or a dot")
	errMissing = fault.Errorf(fault.NotFound, "there is no such file")
	errNoFile  = fault.Errorf(fault.Invalid, "it is not a regular file")
	errSwapped = fault.Errorf(fault.Conflict, "it was replaced while it was being opened")
)

// openBelow opens a regular file by its absolute path, which must be below one of the roots.
// It follows neither links nor "..".
func openBelow(roots []root, path string) (*os.File, error) {
	if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") {
		return nil, errOutside
	}
	// filepath.Clean would remove a trailing slash or dot. Such a path names a folder.
	if names := strings.Split(filepath.ToSlash(path), "/"); filepath.IsAbs(path) && (names[len(names)-1] == "" || names[len(names)-1] == ".") {
		return nil, errUnclean
	}
	for _, r := range roots {
		if below, err := filepath.Rel(string(r), filepath.Clean(path)); err == nil && filepath.IsAbs(path) && filepath.IsLocal(below) {
			return r.open(strings.Split(filepath.ToSlash(below), "/"))
		}
	}
	return nil, errOutside
}

// open opens each folder on the path relative to the folder above it. If it opened the whole
// path at once, a folder that is concurrently replaced by a link could lead outside the root.
func (r root) open(names []string) (*os.File, error) {
	dir, err := os.OpenRoot(string(r))
	if err != nil {
		return nil, fault.Hide(fault.Unavailable, "the folder that files are imported from cannot be opened", err)
	}
	defer func() { dir.Close() }()
	for _, name := range names[:len(names)-1] {
		below, err := openFolder(dir, name)
		if err != nil {
			return nil, err
		}
		dir.Close()
		dir = below
	}
	return openFile(dir, names[len(names)-1])
}

// openFolder opens a folder by its name in dir, unless it is a link.
func openFolder(dir *os.Root, name string) (*os.Root, error) {
	seen, err := look(dir, name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errMissing
	}
	below, err := dir.OpenRoot(name)
	if err != nil {
		return nil, openError(err)
	}
	opened, err := below.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		return nil, errors.Join(errSwapped, err, below.Close())
	}
	return below, nil
}

// openFile opens a regular file by its name in dir. A file with several hard links is refused.
func openFile(dir *os.Root, name string) (*os.File, error) {
	seen, err := look(dir, name)
	switch {
	case err != nil:
		return nil, err
	case !seen.Mode().IsRegular():
		return nil, errNoFile
	case links(seen) > 1:
		return nil, errLinked // other hard links of the file may be outside the roots
	}
	// If the file was replaced by a named pipe, opening it without O_NONBLOCK would block.
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openError(err)
	}
	opened, err := f.Stat()
	if err != nil || !opened.Mode().IsRegular() || !os.SameFile(seen, opened) {
		return nil, errors.Join(errSwapped, err, f.Close())
	}
	return f, nil
}

// look returns the file info of a name in dir. A link is an error.
func look(dir *os.Root, name string) (fs.FileInfo, error) {
	seen, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, openError(err)
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	}
	return seen, nil
}

// openError returns the error to report for a file below a root that cannot be opened.
func openError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errMissing
	case errors.Is(err, fs.ErrPermission):
		return fault.Hide(fault.Forbidden, "the service may not read it", err)
	}
	return fault.Hide(fault.Invalid, "it cannot be opened", err)
}
