package sandbox

import (
	"runtime"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls that a program in Go needs to compute, and to
// read and write what is open already. All others fail: nothing is opened,
// connected, executed, traced or forked, and no limit is raised.
var allowed = []string{
	"read", "readv", "pread64", "write", "writev", "recvmsg", "sendmsg", "recvfrom", "sendto", "close", "fstat", "lseek", "fcntl",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "poll", "ppoll",
	"munmap", "madvise", "mincore", "brk", "mremap",
	"futex", "exit", "exit_group", "set_robust_list", "rseq", "set_tid_address", "membarrier", "restart_syscall",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill", "gettid", "getpid",
	"sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "getrusage", "getrandom",
}

// under are those that are allowed under conditions: new threads, but no new
// processes; memory that nobody else shares, since only that is counted, and
// that no code is run from.
var under = []seccomp.NameWithConditions{
	{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}},
	{Name: "mmap", Conditions: seccomp.ArgumentConditions{
		{Argument: 2, Operation: seccomp.BitsNotSet, Value: unix.PROT_EXEC},
		{Argument: 3, Operation: seccomp.BitsNotSet, Value: unix.MAP_SHARED},
	}},
	{Name: "mprotect", Conditions: seccomp.ArgumentConditions{{Argument: 2, Operation: seccomp.BitsNotSet, Value: unix.PROT_EXEC}}},
}

// filtered has the kernel refuse all system calls but those above, to all
// threads of this process.
func filtered() error {
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
				{Action: seccomp.ActionAllow, Names: known(allowed), NamesWithCondtions: under},
				// The C library then falls back to clone.
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known([]string{"clone3"})},
			},
		},
	})
}
