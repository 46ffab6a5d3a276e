package pdfium

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"annals/commands/importer/extract/process"
)

// TestMain runs the tests or, if Readers started the test binary as a reader process, acts
// as such a process or as one that fails in some way.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] == "" || os.Args[1][0] == '-' {
		os.Exit(m.Run())
	}
	flags := flag.NewFlagSet("reader", flag.ExitOnError)
	cache, memory, compile := flags.String("cache", "", ""), flags.Int64("memory", 0, ""), flags.Bool("compile", false, "")
	flags.Parse(os.Args[2:])
	var err error
	switch mode := os.Args[1]; {
	case mode == "stillborn":
		fmt.Fprintln(os.Stderr, "no such subcommand")
		os.Exit(2)
	case mode == "serve" && *compile:
		err = Compile(*cache)
	case mode == "serve":
		err = Serve(*memory, *cache)
	case *compile:
	case mode == "scans":
		err = process.Serve(*memory, func() (int64, error) { return 0, nil }, serveScans)
	default:
		err = process.Serve(*memory, func() (int64, error) { return 0, nil }, func(s *process.Server, _ process.Frame) error { return fail(s, mode) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	scannedPages = 5
	drawingTime  = 800 * time.Millisecond
)

// serveScans responds to requests for a file of scanned pages that take long to draw.
func serveScans(s *process.Server, f process.Frame) error {
	req, err := decodeRequest(f.Payload)
	switch {
	case err != nil:
		return err
	case req.open:
		err = s.Send(openedFrame, Document{Pages: scannedPages}.Encode(), nil)
	case req.draw.Page > 0:
		time.Sleep(drawingTime)
		err = errors.Join(s.Send(pictureFrame, new(process.Encoder).Int(req.draw.Page).Int(1).Int(1).B, nil), s.Send(pieceFrame, []byte{0}, nil))
	case req.first > 0:
		var e process.Encoder
		(&Page{Number: req.first, Width: 1, Height: 1, Scanned: true}).Encode(&e)
		err = s.Send(pageFrame, e.B, nil)
	}
	return errors.Join(err, s.Send(doneFrame, nil, nil))
}

// fail sends the first of three pages, and then fails as mode says.
func fail(s *process.Server, mode string) error {
	s.Send(openedFrame, Document{Pages: 3}.Encode(), nil)
	s.Send(doneFrame, nil, nil)
	s.Next()
	var e process.Encoder
	(&Page{Number: 1, Lines: []Line{{Text: "first"}}}).Encode(&e)
	s.Send(pageFrame, e.B, nil)
	switch mode {
	case "hang":
		s.Next() // blocks for ever
	case "spin":
		for n := 0; ; n++ {
		}
	case "babble":
		s.Send(0xff, nil, nil)
		s.Next()
	}
	os.Exit(2)
	return nil
}
