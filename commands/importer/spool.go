package importer

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"annals/events"
	"annals/events/fault"
)

// defaultSpoolMem is how many bytes of a file's text are kept in memory. The rest goes to a
// temporary file.
const defaultSpoolMem = 1 << 20

// spool stores the sections of a file while it is read. It is not safe for concurrent use.
// Close it after use.
type spool struct {
	dir    string // of the temporary file; empty means the system's folder
	memory int    // bytes kept in memory; 0 means defaultSpoolMem

	inMemory []spooled
	bytes    int      // bytes of the sections in inMemory
	file     *os.File // file with the other sections; nil if there are none
	out      *bufio.Writer
	buf      []byte
}

// spooled is a section and the size of the event that will contain it.
type spooled struct {
	events.SectionExtracted
	size int
}

// spoolPattern matches the names of temporary files.
const spoolPattern = "text-*.spool"

// add adds a section; size is the size of its event.
func (s *spool) add(section events.SectionExtracted, size int) error {
	if s.file == nil && s.bytes+size <= cmp.Or(s.memory, defaultSpoolMem) {
		s.inMemory = append(s.inMemory, spooled{section, size})
		s.bytes += size
		return nil
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return spoolError(err)
		}
	}
	s.buf = spooled{section, size}.encode(s.buf[:0])
	_, err := s.out.Write(s.buf)
	if err == nil {
		_, err = s.out.WriteString(section.Text)
	}
	return spoolError(err)
}

// encode appends a section to b: numbers as varints, and each string after its length. It
// appends the length of the text but not the text, which the caller writes.
func (s spooled) encode(b []byte) []byte {
	text := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	for _, n := range [...]int{s.size, s.Index, s.Part, s.Level, s.StartPage, s.EndPage, int(math.Round(1000 * s.Confidence)), len(s.Path), len(s.PageBreaks)} {
		b = binary.AppendVarint(b, int64(n))
	}
	for _, title := range s.Path {
		text(title)
	}
	for _, at := range s.PageBreaks {
		b = binary.AppendVarint(b, int64(at))
	}
	text(s.Title)
	return binary.AppendUvarint(b, uint64(len(s.Text)))
}

// decode reads a section that encode has encoded, with its text. After the last section the
// error is io.EOF.
func decode(in *bufio.Reader) (s spooled, err error) {
	if _, err := in.Peek(1); err != nil {
		return s, err
	}
	number := func(to *int) {
		if err == nil {
			var n int64
			n, err = binary.ReadVarint(in)
			*to = int(n)
		}
	}
	text := func(to *string) {
		var n uint64
		if err == nil {
			n, err = binary.ReadUvarint(in)
		}
		if err == nil {
			b := make([]byte, n)
			_, err = io.ReadFull(in, b)
			*to = string(b)
		}
	}
	var confidence, path, breaks int // confidence in thousandths
	for _, to := range [...]*int{&s.size, &s.Index, &s.Part, &s.Level, &s.StartPage, &s.EndPage, &confidence, &path, &breaks} {
		number(to)
	}
	s.OCR, s.Confidence = confidence > 0, float64(confidence)/1000
	for i := 0; i < path && err == nil; i++ {
		s.Path = append(s.Path, "")
		text(&s.Path[i])
	}
	for i := 0; i < breaks && err == nil; i++ {
		s.PageBreaks = append(s.PageBreaks, 0)
		number(&s.PageBreaks[i])
	}
	text(&s.Title)
	text(&s.Text)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return s, err
}

// open creates the file. On systems where an open file can be removed, it removes the file
// immediately, so that nothing is left if the process is killed.
func (s *spool) open() (err error) {
	if s.file, err = os.CreateTemp(s.dir, spoolPattern); err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		if err := os.Remove(s.file.Name()); err != nil {
			return err
		}
	}
	s.out = bufio.NewWriterSize(s.file, 256<<10)
	return nil
}

// each calls fn with every section, in order. each may be called several times.
func (s *spool) each(fn func(spooled) error) error {
	for _, section := range s.inMemory {
		if err := fn(section); err != nil {
			return err
		}
	}
	if s.file == nil {
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return spoolError(err)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, 1<<62), 256<<10)
	for {
		section, err := decode(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return spoolError(err)
		}
		if err := fn(section); err != nil {
			return err
		}
	}
}

// close drops the sections and removes the file.
func (s *spool) close() error {
	file := s.file
	s.inMemory, s.bytes, s.file = nil, 0, nil
	if file == nil {
		return nil
	}
	err := file.Close()
	if runtime.GOOS == "windows" {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// spoolError returns err as an error of kind fault.Unavailable: the import is retried later,
// when the disk may have space again.
func spoolError(err error) error {
	if err == nil {
		return nil
	}
	return fault.Hide(fault.Unavailable, "the server cannot write the text to its disk at the moment: try again later", fmt.Errorf("spool the text of a file: %w", err))
}

// SweepSpool removes the temporary files that killed processes left in a folder. Call it
// before any Importer uses the folder.
func SweepSpool(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, spoolPattern))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
