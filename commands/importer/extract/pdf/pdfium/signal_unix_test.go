//go:build unix

package pdfium

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

func TestSignalIsNotFileFault(t *testing.T) {
	for sig, want := range map[syscall.Signal]fault.Kind{
		syscall.SIGTERM: fault.Unavailable,
		syscall.SIGKILL: fault.Internal,
	} {
		// The reader process handles none of these signals, so each of them kills it.
		r := readersOf(t, "hang", Config{})
		pages := 0
		err := visit(t.Context(), r, anyFile, 10, visitor{page: func(Page) error {
			pages++
			return signalChild(sig)
		}})
		if !fault.Is(err, want) || pages != 1 || !strings.Contains(fmt.Sprint(err), sig.String()) {
			t.Errorf("%v: Read: %v after %d pages, want kind %v after 1", sig, err, pages, want)
		}
		if errors.As(err, new(*process.Died)) != (sig == syscall.SIGKILL) {
			t.Errorf("%v: Read = %#v", sig, err)
		}
		if r.pool.Idle() != 0 {
			t.Errorf("%v: the dead process is idle", sig)
		}
	}
}

// signalChild signals the only child process of the test.
func signalChild(sig syscall.Signal) error {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return err
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		if more, err := os.ReadFile(task); err == nil {
			b = append(b, more...)
		}
	}
	for field := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		return syscall.Kill(pid, sig)
	}
	return errors.New("there is no child")
}
