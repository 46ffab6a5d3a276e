package sandbox

import (
	"os"
	"runtime"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls that a Go program needs to compute, and to read and write open
// descriptors. All others fail, so the process cannot open, connect, execute, trace or fork
// anything, or raise a limit.
var allowed = []string{
	"read", "readv", "pread64", "write", "writev", "recvmsg", "sendmsg", "recvfrom", "sendto", "close", "fstat", "lseek",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "poll", "ppoll",
	"munmap", "madvise", "mincore", "brk", "mremap",
	"futex", "exit", "exit_group", "set_robust_list", "rseq", "set_tid_address", "membarrier", "restart_syscall",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid",
	"sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "getrusage", "getrandom",
}

// conditional returns the system calls that are allowed only with some arguments. New threads
// are allowed, but no processes. Memory may be neither shared, because shared memory would not
// be counted, nor executable. Signals may go only to this process. A descriptor can also send
// signals (F_SETOWN, F_SETSIG, O_ASYNC), so fcntl is limited to what Go uses.
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

// filterCalls makes the kernel refuse all system calls that are not allowed, in all threads of
// this process.
func filterCalls() error {
	info, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	known := func(names []string) (kept []string) {
		for _, name := range names {
			if _, ok := info.SyscallNames[name]; ok { // some architectures lack some calls
				kept = append(kept, name)
			}
		}
		return kept
	}
	runtime.LockOSThread() // LoadFilter makes two calls that need the same thread
	defer runtime.UnlockOSThread()
	return seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: known(allowed), NamesWithCondtions: conditional()},
				// The C library calls clone if clone3 fails with ENOSYS.
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known([]string{"clone3"})},
			},
		},
	})
}
