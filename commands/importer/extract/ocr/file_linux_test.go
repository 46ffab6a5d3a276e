package ocr

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// A picture that is passed as a file is a PGM file that cannot be changed, and a request with less
// of it is refused.
func TestPictureInFile(t *testing.T) {
	p := Picture{Width: 2, Height: 3, Pixels: []byte("abcdef")}
	f := inFile(p)
	if f == nil {
		t.Skip("this system cannot create files in memory")
	}
	defer f.Close()
	got, err := io.ReadAll(io.NewSectionReader(f, 0, 100))
	if want := "P5\n2 3\n255\nabcdef"; err != nil || string(got) != want {
		t.Errorf("the file has %q, %v, want %q", got, err, want)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err == nil || f.Truncate(1) == nil || f.Truncate(100) == nil {
		t.Error("the file was changed")
	}
	req := request{p, time.Minute, true}
	open := func() (io.ReaderAt, error) { return f, nil }
	if got, err := decodeRequest(req.encode(), open); err != nil || !bytes.Equal(got.Pixels, p.Pixels) {
		t.Errorf("decodeRequest = %+v, %v, want the pixels of %+v", got, err, p)
	}
	for _, req.Height = range []int{0, 4, 1 << 30} {
		if _, err := decodeRequest(req.encode(), open); err == nil {
			t.Errorf("a picture with %d rows was decoded from a file with 3", req.Height)
		}
	}
}
