//go:build unix

package reader_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// killChildren kills the child processes of the test.
func killChildren(t *testing.T) {
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	killed := 0
	for _, task := range tasks {
		b, _ := os.ReadFile(task) // a thread may have ended
		for field := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	if killed == 0 {
		t.Skip("the system does not list child processes")
	}
}
