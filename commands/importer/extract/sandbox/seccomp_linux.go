package sandbox

import (
	"os"
	"runtime"
	"slices"

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

// executing are the further system calls of a process that may execute a program, and of that
// program, which Landlock limits to its files.
var executing = []string{
	"execve", "wait4", "waitid", "pipe2", "dup2", "dup3", "pidfd_send_signal", // sends only to children: pidfd_open is denied
	"newfstatat", "statx", "stat", "lstat", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "fadvise64", "arch_prctl",
	"getppid", "getuid", "geteuid", "getgid", "getegid", "sysinfo", "uname", "time",
}

// conditional returns the system calls that are allowed only with some arguments. New threads
// are allowed, but no processes. Memory may be neither shared, because shared memory would not
// be counted, nor executable. Signals may go only to this process. A descriptor can also send
// signals (F_SETOWN, F_SETSIG, O_ASYNC), so fcntl is limited to what Go uses.
//
// If the process may execute a program, new processes are allowed as Go starts them, files may be
// opened for reading, and code may be mapped from files.
func conditional(program bool) []seccomp.NameWithConditions {
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
	if !program {
		return calls
	}
	with := func(argument uint32, bit uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: bit}
	}
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	calls = append(calls,
		seccomp.NameWithConditions{Name: "clone", Conditions: seccomp.ArgumentConditions{with(0, unix.CLONE_VM), with(0, unix.CLONE_VFORK), without(0, namespaces)}},
		seccomp.NameWithConditions{Name: "mmap", Conditions: seccomp.ArgumentConditions{without(3, unix.MAP_SHARED|unix.MAP_ANON)}},
		seccomp.NameWithConditions{Name: "openat", Conditions: seccomp.ArgumentConditions{without(2, writing)}},
		seccomp.NameWithConditions{Name: "open", Conditions: seccomp.ArgumentConditions{without(1, writing)}},
		seccomp.NameWithConditions{Name: "prctl", Conditions: seccomp.ArgumentConditions{equal(0, unix.PR_SET_PDEATHSIG), equal(1, int(unix.SIGKILL))}},
		seccomp.NameWithConditions{Name: "prlimit64", Conditions: seccomp.ArgumentConditions{equal(2, 0)}}, // reads a limit
	)
	return calls
}

// filterCalls makes the kernel refuse all system calls that are not allowed, in all threads of
// this process. program means that it may execute a program.
func filterCalls(program bool) error {
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
	names, calls := known(allowed), conditional(program)
	if program {
		names = append(names, known(executing)...)
	}
	calls = slices.DeleteFunc(calls, func(c seccomp.NameWithConditions) bool { return len(known([]string{c.Name})) == 0 })
	runtime.LockOSThread() // LoadFilter makes two calls that need the same thread
	defer runtime.UnlockOSThread()
	return seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: names, NamesWithCondtions: calls},
				// The C library calls clone if clone3 fails with ENOSYS.
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known([]string{"clone3"})},
			},
		},
	})
}
