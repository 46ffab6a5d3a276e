// Package disk reports the free space of the disks that a service writes to, and
// which errors mean that a disk is full. It imports events/sqldb, and no other package
// of this module.
package disk

import (
	"errors"
	"slices"
	"strings"

	"annals/events/sqldb"
)

// Folder is a folder that the service writes to.
type Folder struct {
	Name string // data or temp; used in metrics and messages, which must not contain paths
	Path string
}

// Space is the free space for a folder.
type Space struct {
	Folder string // Folder.Name
	Free   int64  // bytes that this user may still write
}

// Folders are the folders of one service.
type Folders []Folder

// Space returns the free space for each folder, except those that do not exist
// yet or cannot be inspected.
func (f Folders) Space() (all []Space) {
	for _, folder := range f {
		if bytes, err := free(folder.Path); err == nil {
			all = append(all, Space{folder.Name, bytes})
		}
	}
	return all
}

// fullBelow is the free space below which a disk counts as full. It is not 0, because
// files of databases and indexes grow in larger steps.
const fullBelow = 1 << 20

// Full returns the names of the folders whose disks are full.
func (f Folders) Full() (names []string) {
	for _, s := range f.Space() {
		if s.Free < fullBelow {
			names = append(names, s.Folder)
		}
	}
	return names
}

// IsFull reports whether an error says that a disk, or a quota on it, is full:
// one of the file system, of SQLite, or of PostgreSQL.
func IsFull(err error) bool {
	return sqldb.IsFull(err) || slices.ContainsFunc(full, func(e error) bool { return errors.Is(err, e) })
}

// Restore wraps err so that IsFull recognises it, if its text ends with that of a
// full-disk error: some libraries append only the text of the cause and do not wrap it.
func Restore(err error) error {
	for _, e := range full {
		if err != nil && !errors.Is(err, e) && strings.HasSuffix(err.Error(), e.Error()) {
			return restored{err, e}
		}
	}
	return err
}

type restored struct {
	error
	cause error
}

func (r restored) Unwrap() []error { return []error{r.error, r.cause} }
