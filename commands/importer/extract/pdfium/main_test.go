package pdfium

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary be the process that reads, and processes that
// fail in all the ways that a reader may.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch mode := os.Args[1]; mode {
	case "serve":
		if err := Serve(context.Background(), os.Stdin, os.Stdout, ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "hang", "crash", "babble":
		fail(mode)
	case "stillborn":
		fmt.Fprintln(os.Stderr, "no such subcommand")
		os.Exit(2)
	default:
		os.Exit(m.Run())
	}
}

// fail reads the first page of three of whatever file, and then no more.
func fail(mode string) {
	f := &frames{r: bufio.NewReader(os.Stdin), w: bufio.NewWriter(os.Stdout)}
	f.write(readyFrame, nil)
	f.read()
	f.write(openedFrame, Document{Pages: 3}.encode())
	var e encoder
	e.int(1)
	f.write(doneFrame, e.b)
	f.read()
	e.b = nil
	(&Page{Number: 1, Lines: []Line{{Text: "first"}}}).encode(&e)
	f.write(pageFrame, e.b)
	switch mode {
	case "hang":
		f.read() // nothing more comes
	case "babble":
		os.Stdout.WriteString("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
		f.read()
	}
	os.Exit(2)
}
