// Package golden compares the output of code with recorded output. It is for output from
// which stored data is built: if the output changes, the stored data has to be rebuilt.
package golden

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record the current output, after the Version was raised")

// Check compares output with the output recorded in a file. The first line of the file
// contains the Version and the size of the input.
type Check struct {
	File    string
	Changed string // what a difference means: "the passages of sections have changed"
	Version int    // of the stored data built from the output; 0 if none is stored
	Raise   string // which Version has to be raised: "Version of passages in projections/readmodel/passages"
	Input   int    // number of events, which may grow; 0 for a fixed input
}

// Run fails unless the output is the recorded one. With the flag -update it records the
// output, unless the output has changed for the recorded input and Version.
func (c Check) Run(t *testing.T, output func(input int) []byte) {
	t.Helper()
	recorded, err := os.ReadFile(c.File)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		t.Fatal(err)
	}
	head, before, _ := bytes.Cut(recorded, []byte("\n"))
	var version, input int
	if _, err := fmt.Sscanf(string(head), header, &version, &input); err != nil && !missing {
		t.Fatalf("%s begins with %q, want its version and input", c.File, head)
	}
	if missing {
		input = c.Input
	}
	now := output(input)
	test, _, _ := strings.Cut(t.Name(), "/")
	record := fmt.Sprintf("run `go test %s -run '^%s$' -update`", packagePath(), test)
	switch changed := !bytes.Equal(before, now); {
	case !changed && input == c.Input:
	case changed && !missing && c.Version > 0 && c.Version == version:
		t.Errorf("%s: raise %s, then %s\n%s", c.Changed, c.Raise, record, difference(before, now))
	case *update:
		if input != c.Input {
			now = output(c.Input)
		}
		if err := os.WriteFile(c.File, append(fmt.Appendf(nil, header+"\n", c.Version, c.Input), now...), 0o644); err != nil {
			t.Fatal(err)
		}
	case missing:
		t.Errorf("%s is missing: %s", c.File, record)
	case !changed:
		t.Errorf("%s was recorded for %d events, and there are %d now: %s, and read what it adds", c.File, input, c.Input, record)
	case c.Version == 0:
		t.Errorf("%s; if stored data has changed too, first raise %s; if all of it is intended, %s\n%s", c.Changed, c.Raise, record, difference(before, now))
	default:
		t.Errorf("%s, and the Version was raised: %s\n%s", c.Changed, record, difference(before, now))
	}
}

const header = "version %d, input %d"

// packagePath returns the path of the package under test, relative to the root of
// the module.
func packagePath() string {
	dir, err := os.Getwd()
	if err != nil {
		return "./..."
	}
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return "." + filepath.ToSlash(strings.TrimPrefix(dir, root))
		}
	}
	return "./..."
}

// difference shows the first lines that differ.
func difference(before, after []byte) string {
	a, b := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	line := func(lines []string) string {
		if i < len(lines) {
			return fmt.Sprintf("%.300s", lines[i])
		}
		return "(end)"
	}
	return fmt.Sprintf("line %d was\n\t%s\nand is\n\t%s", i+2, line(a), line(b))
}
