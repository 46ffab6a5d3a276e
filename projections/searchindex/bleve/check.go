package bleve

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"go.etcd.io/bbolt"
)

// checkedAtStart is how many bytes of segments are verified before an index serves
// searches. Reading them from disk takes half a second.
const checkedAtStart = 256 << 20

// openable returns an error if the process cannot have all files of an index open at the
// same time. Otherwise the engine would continue without the segments that it cannot
// open, and its errors would not name the cause.
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
		defer f.Close() // not in the loop: all files have to be open at the same time
	}
	return err
}

// checkRoot returns an error if the list of segments in the file at path is truncated.
// The file is mapped to memory, and a goroutine of the engine that reads beyond its end
// would crash the process.
func checkRoot(path string) error {
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
			return fmt.Errorf("%s is truncated: it has %d bytes of %d", path, info.Size(), tx.Size())
		}
		return nil
	})
}

// check looks for corruption in at most limit bytes of segments. In all segments it
// checks the data that every search reads.
func (x *engine) check(limit int) (err error) {
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
	if err := checkSegments(s, limit); err != nil {
		return err
	}
	_, err = x.columns.of(s)
	return err
}

// onDisk is a segment in a file. The file ends with the CRC-32 checksum of the bytes
// before it.
type onDisk interface {
	Path() string
	Data() []byte
	CRC() uint32
}

// checkSegments returns an error if a segment's bytes do not match its checksum. It
// reads at most limit bytes.
func checkSegments(s *scorch.IndexSnapshot, limit int) error {
	for _, segment := range s.Segments() {
		file, ok := segment.Segment().(onDisk)
		if !ok {
			continue // the segment is only in memory
		}
		data := file.Data()
		if limit -= len(data); limit < 0 {
			return nil
		}
		if got := crc32.ChecksumIEEE(data[:len(data)-crc32.Size]); got != file.CRC() {
			return fmt.Errorf("%s is corrupt: its bytes have the checksum %08x, not %08x", file.Path(), got, file.CRC())
		}
	}
	return nil
}
