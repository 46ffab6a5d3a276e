//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"time"
)

var errNotHere = errors.New("not built for " + runtime.GOOS)

// Configure gives a command that is about to be started an empty environment.
func Configure(cmd *exec.Cmd) { cmd.Env = []string{} }

// Begin does nothing here.
func Begin() {}

// Enter reports that this system has no sandbox.
func Enter(Rules) Report {
	var r Report
	if len(os.Environ()) <= 1 { // Windows keeps SYSTEMROOT
		r.Note("empty environment", nil)
	}
	for _, measure := range []string{"memory limit", "Landlock", "seccomp", "no signals to other processes"} {
		r.Note(measure, errNotHere)
	}
	return r
}

// LimitCPU returns an error here.
func LimitCPU(int, time.Duration, time.Duration) error { return errNotHere }

// UsedCPU is not available here.
func UsedCPU(int) (time.Duration, error) { return 0, errNotHere }

// Yield is not available here.
func Yield(int, bool) error { return errNotHere }

// OverCPU returns false, because processor time is not limited here.
func OverCPU(*os.ProcessState, time.Duration) bool { return false }

// Resident returns 0, because it is unknown here.
func Resident(int) int64 { return 0 }
