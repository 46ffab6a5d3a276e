package process

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const xcpu = unix.SIGXCPU

// maxResident returns the peak resident memory, in bytes, of a process that has exited.
func (p *Process) maxResident() int64 {
	return p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}

// probes are actions that the sandbox must refuse. Each returns nil if the action succeeds.
var probes = map[string]func() error{
	"read a file":          func() error { _, err := os.ReadFile("/etc/hostname"); return err },
	"list a folder":        func() error { _, err := os.ReadDir("/"); return err },
	"write a file":         func() error { return os.WriteFile("/tmp/annals-probe", []byte("x"), 0o600) },
	"read the server":      func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid())); return err },
	"stat a path":          func() error { _, err := os.Stat("/etc/passwd"); return err },
	"connect":              func() error { c, err := net.DialTimeout("tcp", "127.0.0.1:1", time.Second); _ = c; return refused(err) },
	"listen":               func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
	"send a datagram":      func() error { _, err := net.Dial("udp", "127.0.0.1:53"); return err },
	"create a unix socket": func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
	"execute":              func() error { return exec.Command("/bin/true").Run() },
	"execute in place":     func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
	"fork": func() error {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	},
	"trace":           func() error { return unix.PtraceAttach(os.Getppid()) },
	"signal":          func() error { return unix.Kill(os.Getppid(), 0) },
	"signal a thread": func() error { return unix.Tgkill(os.Getppid(), os.Getppid(), 0) },
	"own a descriptor for another": func() error {
		_, err := unix.FcntlInt(1, unix.F_SETOWN, os.Getppid())
		return err
	},
	"raise its limits": func() error { return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}) },
	"raise its priority": func() error {
		return unix.Setpriority(unix.PRIO_PROCESS, 0, -5)
	},
	"run new code": func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	},
	"map memory that is not counted": func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED)
		return err
	},
	"map more memory than it may have": func() error {
		const size = 1 << 30
		reserved, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		_, err = unix.MmapPtr(-1, 0, reserved, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_FIXED)
		return err
	},
	"create a file in memory": func() error { _, err := unix.MemfdCreate("x", 0); return err },
	"create a user namespace": func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"mount":                   func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"use io_uring": func() error {
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return nonZero(errno, unix.EPERM)
	},
}

// refused returns nil if err means that the other end refused the connection, because the
// sandbox must then have allowed the system call.
func refused(err error) error {
	if err != nil && strings.Contains(err.Error(), "refused") {
		return nil
	}
	return err
}

// nonZero returns errno if it means that the sandbox denied the call.
func nonZero(errno, denied syscall.Errno) error {
	if errno == denied {
		return errno
	}
	return nil
}

func probe(what string) string {
	switch what {
	case "environment":
		return strings.Join(os.Environ(), " ")
	case "descriptors":
		var open []string
		for fd := range 256 {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				open = append(open, fmt.Sprint(fd))
			}
		}
		return strings.Join(open, " ")
	}
	if err := probes[what](); err != nil {
		return "denied"
	}
	return "done"
}

func TestSandboxDeniesProbes(t *testing.T) {
	t.Setenv("ANNALS_TEST_SECRET", "s3cret")
	leaked, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer leaked.Close()
	// This descriptor lacks close-on-exec, like one that the server inherited from its
	// parent.
	raw, err := unix.Dup(int(leaked.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(raw)
	p := take(t, poolOf(t, Config{Memory: 128 << 20}), true)
	for what, want := range map[string]string{"environment": "", "descriptors": "1 2"} {
		if got, err := p.ask(t.Context(), kindProbe, what, nil, time.Minute); got != want || err != nil {
			t.Errorf("%s of a process = %q, %v; want %q", what, got, err, want)
		}
	}
	for what := range probes {
		if got, err := p.ask(t.Context(), kindProbe, what, nil, time.Minute); got != "denied" || err != nil {
			t.Errorf("%s: %q, %v; want denied", what, got, err)
		}
	}
	if t.Failed() {
		t.Log(p.Report)
	}
}
