package pdfium

import (
	"flag"
	"fmt"
	"os"
	"testing"

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
	default:
		err = process.Serve(*memory, func() (int64, error) { return 0, nil }, func(s *process.Server, _ process.Frame) error { return fail(s, mode) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
