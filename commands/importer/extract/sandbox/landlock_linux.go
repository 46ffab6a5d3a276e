package sandbox

import (
	"errors"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// scopedSignals is the first Landlock ABI that refuses signals to processes outside of the
// sandbox.
const scopedSignals = 6

// landlocked makes the kernel refuse access to all paths and TCP ports and, if it supports
// that, signals and abstract sockets. program may be executed and read its files; it may be
// nil. landlocked returns the Landlock ABI.
func landlocked(program *Program) (abi int, err error) {
	abi, err = ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return 0, errors.New("not supported by the kernel")
	}
	var rules []landlock.Rule
	if program != nil {
		rules = append(rules,
			landlock.PathAccess(ll.AccessFSExecute|ll.AccessFSReadFile, program.Path),
			landlock.PathAccess(ll.AccessFSExecute|ll.AccessFSReadFile, program.Loader).IgnoreIfMissing(),
			landlock.PathAccess(ll.AccessFSReadFile, program.Reads...).IgnoreIfMissing())
	}
	return abi, landlock.V7.BestEffort().Restrict(rules...)
}
