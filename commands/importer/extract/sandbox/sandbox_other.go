//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"time"
)

var errUnsupported = errors.New("not supported on " + runtime.GOOS)

// Configure clears the environment of a command.
func Configure(cmd *exec.Cmd) { cmd.Env = []string{} }

// Begin does nothing on this system.
func Begin() {}

// Enter reports that this system has no sandbox.
func Enter(Rules) Report {
	var r Report
	if len(os.Environ()) <= 1 { // Windows keeps SYSTEMROOT
		r.Note("empty environment", nil)
	}
	for _, measure := range []string{"memory limit", "Landlock", "seccomp", "no signals to other processes"} {
		r.Note(measure, errUnsupported)
	}
	return r
}

// LimitCPU is not supported on this system.
func LimitCPU(int, time.Duration, time.Duration) error { return errUnsupported }

// UsedCPU is not supported on this system.
func UsedCPU(int) (time.Duration, error) { return 0, errUnsupported }

// Yield is not supported on this system.
func Yield(int, bool) error { return errUnsupported }

// OverCPU returns false: there is no CPU limit on this system.
func OverCPU(*os.ProcessState, time.Duration) bool { return false }

// Resident returns 0: it is unknown on this system.
func Resident(int) int64 { return 0 }

// Kill kills a process.
func Kill(process *os.Process) { _ = process.Kill() }

// LimitProgram does nothing on this system.
func LimitProgram(int, int, int64) error { return nil }

// BeginProgram does nothing on this system.
func BeginProgram() {}
