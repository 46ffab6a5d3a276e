package sandbox

import (
	"errors"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// scopedSignals is the first version of Landlock that refuses signals to
// processes outside of the sandbox.
const scopedSignals = 6

// landlocked makes the kernel refuse all access to paths, TCP ports and, if it can, signals
// and abstract sockets. It returns the version of Landlock.
func landlocked() (abi int, err error) {
	abi, err = ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return 0, errors.New("the kernel has none")
	}
	return abi, landlock.V7.BestEffort().Restrict()
}
