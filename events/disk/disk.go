// Package disk reports how much room the disks have that a service writes to,
// and which errors say that there is none. It imports nothing of ours.
package disk

import (
	"errors"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Folder is a folder that a service writes to.
type Folder struct {
	Name string // for metrics and messages, which tell no paths: data, temp
	Path string
}

// Space is how much room there is for a folder.
type Space struct {
	Folder string // its Name
	Free   int64  // bytes that this user may still write
}

// Folders are those of one service.
type Folders []Folder

// Space returns the room of each folder. Those that are not there yet, or
// cannot be looked at, are left out.
func (f Folders) Space() (all []Space) {
	for _, folder := range f {
		if bytes, err := free(folder.Path); err == nil {
			all = append(all, Space{folder.Name, bytes})
		}
	}
	return all
}

// fullBelow is the room below which a disk counts as full: databases and
// segments of an index grow by more than that.
const fullBelow = 1 << 20

// Full returns the names of the folders whose disks have no room.
func (f Folders) Full() (names []string) {
	for _, s := range f.Space() {
		if s.Free < fullBelow {
			names = append(names, s.Folder)
		}
	}
	return names
}

// postgresFull is PostgreSQL's code for a full disk.
const postgresFull = "53100"

// IsFull reports whether an error says that a disk, or a quota on it, is full:
// one of the file system, of SQLite, or of PostgreSQL.
func IsFull(err error) bool {
	if err == nil {
		return false
	}
	if e := (*sqlite.Error)(nil); errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL {
		return true
	}
	if e := (interface{ SQLState() string })(nil); errors.As(err, &e) && e.SQLState() == postgresFull {
		return true
	}
	return slices.ContainsFunc(full, func(e error) bool { return errors.Is(err, e) })
}

// Restore returns an error of a library that keeps only the text of what it met,
// with the error in its tree that the text ends in, where that is of a full disk.
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
