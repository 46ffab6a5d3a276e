package bleve

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"go.etcd.io/bbolt"
)

// checkedAtStart is how many bytes of segments are looked at before an index
// serves: from the disk that takes half a second.
const checkedAtStart = 256 << 20

// openable returns why the files of an index cannot all be open at once, if that
// is so. The engine would go on without a segment that it cannot open, as if it
// were lost, and its errors do not keep why.
func openable(store string) error {
	folder, err := os.Open(store)
	if err != nil {
		return err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	for _, name := range names {
		f, err := os.Open(filepath.Join(store, name))
		if err != nil {
			return err
		}
		defer f.Close() // not before all of them are open
	}
	return err
}

// rootWhole returns an error where the catalogue of segments at path is shorter
// than it says. It is mapped to memory, and parts of it are read by goroutines of
// the engine: a read past its end there would end the process.
func rootWhole(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	root, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: openWithin})
	if err != nil {
		return err
	}
	defer root.Close()
	return root.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%s has %d bytes of %d", path, info.Size(), tx.Size())
		}
		return nil
	})
}

// check looks for damage: in so many bytes of segments, and in what every
// search needs of all of them.
func (x *Index) check(bytes int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	s, err := x.snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.GetInternal(positionKey); err != nil {
		return err
	}
	if err := whole(s, bytes); err != nil {
		return err
	}
	_, err = x.columns.of(s)
	return err
}

// onDisk is a segment in a file, which ends with the CRC-32 of all before.
type onDisk interface {
	Path() string
	Data() []byte
	CRC() uint32
}

// whole returns an error where the bytes of a segment are not those that were
// written. It looks at so many of them.
func whole(s *scorch.IndexSnapshot, bytes int) error {
	for _, segment := range s.Segments() {
		file, ok := segment.Segment().(onDisk)
		if !ok {
			continue // not written yet
		}
		data := file.Data()
		if bytes -= len(data); bytes < 0 {
			return nil
		}
		if got := crc32.ChecksumIEEE(data[:len(data)-crc32.Size]); got != file.CRC() {
			return fmt.Errorf("the bytes of %s have the checksum %08x, not %08x", file.Path(), got, file.CRC())
		}
	}
	return nil
}
