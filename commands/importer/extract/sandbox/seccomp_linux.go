package sandbox

import (
	"os"
	"runtime"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls that a program in Go needs to compute, and to
// read and write what is open already. All others fail: nothing is opened,
// connected, executed, traced or forked, and no limit is raised.
var allowed = []string{
	"read", "readv", "pread64", "write", "writev", "recvmsg", "sendmsg", "recvfrom", "sendto", "close", "fstat", "lseek",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "poll", "ppoll",
	"munmap", "madvise", "mincore", "brk", "mremap",
	"futex", "exit", "exit_group", "set_robust_list", "rseq", "set_tid_address", "membarrier", "restart_syscall",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid",
	"sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "getrusage", "getrandom",
}

// conditional returns the system calls that are allowed with some arguments
// only: new threads, but no new processes; memory that is not shared, since only
// that is counted, and not executable; signals to this process alone. A
// descriptor can send signals to other processes, too (F_SETOWN, F_SETSIG,
// O_ASYNC), so fcntl may do no more than Go's own use of it.
func conditional() []seccomp.NameWithConditions {
	equal := func(argument uint32, value int) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.Equal, Value: uint64(value)}
	}
	without := func(argument uint32, bits uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsNotSet, Value: bits}
	}
	calls := []seccomp.NameWithConditions{
		{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}},
		{Name: "mmap", Conditions: seccomp.ArgumentConditions{without(2, unix.PROT_EXEC), without(3, unix.MAP_SHARED)}},
		{Name: "mprotect", Conditions: seccomp.ArgumentConditions{without(2, unix.PROT_EXEC)}},
		{Name: "tgkill", Conditions: seccomp.ArgumentConditions{equal(0, os.Getpid())}},
		{Name: "fcntl", Conditions: seccomp.ArgumentConditions{equal(1, unix.F_SETFL), without(2, unix.O_ASYNC)}},
	}
	for _, command := range []int{unix.F_GETFL, unix.F_GETFD, unix.F_SETFD, unix.F_DUPFD_CLOEXEC} {
		calls = append(calls, seccomp.NameWithConditions{Name: "fcntl", Conditions: seccomp.ArgumentConditions{equal(1, command)}})
	}
	return calls
}

// filterCalls makes the kernel refuse all system calls except those above, for all threads
// of this process.
func filterCalls() error {
	info, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	known := func(names []string) (kept []string) {
		for _, name := range names {
			if _, ok := info.SyscallNames[name]; ok { // some are of some architectures only
				kept = append(kept, name)
			}
		}
		return kept
	}
	runtime.LockOSThread() // from the one call to the other
	defer runtime.UnlockOSThread()
	return seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: known(allowed), NamesWithCondtions: conditional()},
				// The C library then falls back to clone.
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known([]string{"clone3"})},
			},
		},
	})
}
