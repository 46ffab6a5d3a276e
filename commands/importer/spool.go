package importer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"annals/events"
	"annals/events/fault"
)

// heldText is how much text of a file is held in memory; what is longer goes
// to a temporary file.
const heldText = 1 << 20

// spool keeps the sections of one file from when they are read until all of it
// was read well. It is used by one goroutine; close it at the end.
type spool struct {
	dir  string // of the temporary file; empty: the system's
	most int    // bytes held in memory; 0: heldText

	held  []spooled
	bytes int
	file  *os.File // once there is more
	out   *bufio.Writer
	buf   []byte
}

// spooled is a section and the size that its event has.
type spooled struct {
	events.SectionExtracted
	size int
}

// spoolPattern names the temporary files, so that a start finds those that a
// process left which was killed.
const spoolPattern = "text-*.spool"

// add takes a section that is about size bytes.
func (s *spool) add(section events.SectionExtracted, size int) error {
	if s.file == nil && s.bytes+size <= or(s.most, heldText) {
		s.held = append(s.held, spooled{section, size})
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

// encode appends a section to b, but for the text that follows: numbers, and
// texts with their lengths before them.
func (s spooled) encode(b []byte) []byte {
	text := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	for _, n := range [...]int{s.size, s.Index, s.Part, s.Level, s.StartPage, s.EndPage, len(s.Path), len(s.PageBreaks)} {
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

// decode reads what encode wrote, and the text; io.EOF after the last.
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
	var path, breaks int
	for _, to := range [...]*int{&s.size, &s.Index, &s.Part, &s.Level, &s.StartPage, &s.EndPage, &path, &breaks} {
		number(to)
	}
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

// open makes the file. It has no name any more once it is open, where the
// system allows that: then nothing is left of it, however the process ends.
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

// each calls fn with every section, in order. It may be called again.
func (s *spool) each(fn func(spooled) error) error {
	for _, section := range s.held {
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

// close forgets everything.
func (s *spool) close() error {
	file := s.file
	s.held, s.bytes, s.file = nil, 0, nil
	if file == nil {
		return nil
	}
	err := file.Close()
	if runtime.GOOS == "windows" {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// spoolError is that of the machine, and may pass.
func spoolError(err error) error {
	if err == nil {
		return nil
	}
	return fault.Hide(fault.Unavailable, "text cannot be kept on the server's disk at the moment", fmt.Errorf("keep text in a temporary file: %w", err))
}

// SweepSpool removes from a folder what processes left there that were killed
// while they made a temporary file. None of them may be running.
func SweepSpool(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, spoolPattern))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
