package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary act as the program annals: if a script calls it by that
// name, if ANNALS_TEST_PROGRAM is set, or if a server starts it as a reader process.
func TestMain(m *testing.M) {
	// Servers in tests use a free port. Commands cannot reach a server at port 0.
	defaultListen = "127.0.0.1:0"
	if os.Getenv("ANNALS_TEST_PROGRAM") != "" || len(os.Args) > 1 && os.Args[1] == readerName {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"annals": mainInScript, "xdg-open": walkAsProgram, "open": walkAsProgram})
}

// mainInScript runs the program in a script, and ends it after one minute.
func mainInScript() {
	time.AfterFunc(time.Minute, func() {
		fmt.Fprintln(os.Stderr, "annals: still at it after a minute, which ends a script")
		os.Exit(3)
	})
	main()
}

// A dry run of annals import prints each file and its target folder. It calls a server
// only if --replace is set.
func Example_import() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"handbook/leave.md", "handbook/travel/trains.txt", "handbook/.draft.md"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			panic(err)
		}
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			panic(err)
		}
	}
	args := []string{"import", "--dry-run", "--replace=false", "--state", filepath.Join(dir, "state"), filepath.Join(dir, "handbook")}
	if err := run(context.Background(), args, os.Stdin, os.Stdout, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// leave.md -> handbook
	// travel/trains.txt -> handbook/travel
	// 2 files to import, 0 imported earlier; skipped: 1 hidden
}
