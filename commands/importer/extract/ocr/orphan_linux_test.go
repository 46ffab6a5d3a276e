//go:build !race

// Not with the race detector, which needs more memory than a confined process has.

package ocr

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract/sandbox"

	"golang.org/x/sys/unix"
)

// A program does not outlive the process that runs it, however that ends. (That process does not
// outlive the server: see package process.)
func TestProgramDiesWithItsProcess(t *testing.T) {
	p := &Program{Version: "5.0.0", Languages: []string{hanging}, data: t.TempDir(), files: sandbox.Program{Path: testBinary(t)}}
	if err := p.findFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := engineWith(t, p, Config{Processes: 1})
	ended := make(chan error, 1)
	go func() {
		_, err := e.recognise(t.Context(), printed(t, "x"))
		ended <- err
	}()
	var reader, program int
	for wait := time.Now().Add(time.Minute); program == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(wait) {
			t.Fatal("no program was started")
		}
		for _, pid := range children(os.Getpid()) {
			for _, child := range children(pid) {
				if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); strings.Contains(string(line), hanging) && strings.Contains(string(line), "stdin\x00stdout") {
					reader, program = pid, child
				}
			}
		}
	}
	if err := unix.Kill(reader, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a killed process has recognised a page")
	}
	for wait := time.Now().Add(10 * time.Second); unix.Kill(program, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", program)); strings.Contains(string(state), ") Z ") {
			break // dead, and waits for whoever inherited it
		}
		if time.Now().After(wait) {
			t.Fatal("the program is alive after its process was killed")
		}
	}
}

// children returns the processes that a process has started.
func children(parent int) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, _ := os.ReadFile(path)
		var pid, of int
		var state string
		_, rest, _ := strings.Cut(string(text), ") ")
		fmt.Sscan(string(text), &pid)
		if n, _ := fmt.Sscan(rest, &state, &of); n == 2 && of == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}
