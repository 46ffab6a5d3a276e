package sandbox

import (
	"errors"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// scopedSignals is the first version of Landlock that refuses signals to
// processes outside of the sandbox.
const scopedSignals = 6

// landlocked has the kernel refuse all access to paths, TCP ports and, where
// it can, signals and abstract sockets, and returns its version of Landlock.
func landlocked() (abi int, err error) {
	abi, err = ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return 0, errors.New("the kernel has none")
	}
	return abi, landlock.V7.BestEffort().Restrict()
}
