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

// Enter says that there is no sandbox on this system.
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

// UsedCPU says that it is not known here.
func UsedCPU(int) (time.Duration, error) { return 0, errNotHere }

// Yield says that it can do nothing here.
func Yield(int, bool) error { return errNotHere }

// OverCPU reports false: nothing ends a process for its processor time here.
func OverCPU(*os.ProcessState, time.Duration) bool { return false }

// Resident returns 0: it is not known here.
func Resident(int) int64 { return 0 }
