package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	nice     = 10  // readers yield the processors to other processes
	lastNice = 15  // readers of costly files yield to other readers
	oomScore = 800 // readers are killed first when the machine runs out of memory
	maxFiles = 64  // open at a time: the input, what Go needs, and room
	// maxUntouched is the most memory that counts as never touched at the start:
	// 70 MiB of Go's runtime, and stacks of the C library, 8 MiB for each thread.
	maxUntouched = 224 << 20
	// room is for pages of the program that are used later.
	room = 40 << 20
)

// Configure prepares a command that is about to be started: it inherits no
// environment and no descriptors but its standard ones, leads a process group
// of its own, and is killed when the thread that started it ends. In Go that is
// when the program does, unless a goroutine that locked its thread started the
// process and returned: that ends the thread, and the process is killed too
// early (golang/go#27505). None that starts readers locks its thread.
func Configure(cmd *exec.Cmd) {
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Go opens everything with this flag; what this program itself was started
	// with may lack it. On an old kernel the child reports what it inherited.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// Begin sets the priority of the process, and restores the default action for the signal
// of its processor time limit, which Go would ignore. Call it first.
func Begin() {
	// All threads of the process group, which is this process alone.
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, nice)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oomScore)), 0)
	var byDefault [64]byte // struct sigaction with SIG_DFL, on every architecture
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGXCPU), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
}

// Enter restricts the process for good to its memory, its open descriptors and its
// threads: it cannot open anything afterwards. It reports which measures are in force.
func Enter(rules Rules) Report {
	var r Report
	if env := os.Environ(); len(env) > 0 {
		r.Note("empty environment", fmt.Errorf("%d variables", len(env)))
	} else {
		r.Note("empty environment", nil)
	}
	r.Note("no descriptors", inherited())
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil && 20-prio < nice { // the system call returns 20 minus the nice value
		err = fmt.Errorf("nice is %d", 20-prio)
	}
	r.Note("low priority", err)
	forgetProgram()
	if rules.Memory > 0 {
		r.Note(fmt.Sprintf("memory limit of %d MiB", rules.Memory>>20), limitMemory(rules))
	}
	var errs []error
	for _, l := range []struct {
		resource int
		most     uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_NOFILE, maxFiles}, {unix.RLIMIT_MEMLOCK, 0}, {unix.RLIMIT_MSGQUEUE, 0}} {
		errs = append(errs, limit(l.resource, l.most))
	}
	r.Note("limits of files and cores", errors.Join(errs...))
	abi, err := landlocked()
	measure := "Landlock"
	if err == nil {
		measure += " ABI " + strconv.Itoa(abi)
	}
	r.Note(measure, err)
	err = filterCalls()
	r.Note("seccomp", err)
	if err != nil && abi < scopedSignals {
		r.Note("no signals to other processes", errors.New("that takes seccomp, or Landlock ABI "+strconv.Itoa(scopedSignals)))
	} else {
		r.Note("no signals to other processes", nil)
	}
	return r
}

// forgetProgram unmaps the pages of the program's file that only its start needed, which
// saves about 40 MiB per process. Pages that are needed again are loaded again.
func forgetProgram() {
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	var start, end uintptr // of a mapping of a file that cannot be written to
	for line := range strings.Lines(string(smaps)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 6 && len(fields[1]) == 4 && !strings.HasSuffix(fields[0], ":"):
			if start, end = 0, 0; fields[1][1] == '-' && fields[1][3] == 'p' && strings.HasPrefix(fields[5], "/") {
				fmt.Sscanf(fields[0], "%x-%x", &start, &end)
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && end > start: // none of it was written to before, either
			_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, start, end-start, unix.MADV_DONTNEED)
		}
	}
}

// limitMemory makes the system refuse memory beyond rules.Memory. The system counts
// writable memory, much of which Go's runtime never touches. It does not count the program
// itself, although that is part of rules.Memory.
func limitMemory(rules Rules) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	kib := func(field string) int64 {
		for line := range bytes.Lines(status) {
			if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == field+":" {
				n, _ := strconv.ParseInt(string(f[1]), 10, 64)
				return n
			}
		}
		return 0
	}
	untouched := max(0, (kib("VmData")-kib("RssAnon"))<<10-rules.Reserved)
	return limit(unix.RLIMIT_DATA, uint64(max(0, rules.Memory-kib("RssFile")<<10-room)+min(untouched, maxUntouched)))
}

// limit sets a limit of this process that it cannot raise again.
func limit(resource int, most uint64) error {
	err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
	if err != nil {
		return fmt.Errorf("limit %d: %w", resource, err)
	}
	return nil
}

// inherited returns an error that names the descriptors that this process has besides
// the standard ones and those of Go's own event loop.
func inherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	var found []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		n, bad := strconv.Atoi(e.Name())
		if err != nil || bad != nil || n <= 2 || strings.HasPrefix(target, "anon_inode:") || target == "/proc/"+strconv.Itoa(os.Getpid())+"/fd" {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 { // what was opened here has the flag
			found = append(found, e.Name())
		}
	}
	if len(found) > 0 {
		return errors.New("inherited " + strings.Join(found, ", "))
	}
	return nil
}

// UsedCPU returns the processor time that a process has taken.
func UsedCPU(pid int) (time.Duration, error) {
	var used unix.Timespec
	const clockOfProcess = 2 // of CLOCK_PROCESS_CPUTIME_ID for another process
	if err := unix.ClockGettime(int32(^uint32(pid)<<3|clockOfProcess), &used); err != nil {
		return 0, fmt.Errorf("read the processor time of a reader: %w", err)
	}
	return time.Duration(used.Nano()), nil
}

// LimitCPU makes the system signal a process once it has used soft processor time since it
// started, and kill it at hard. A hard limit cannot be raised again; 0 leaves it as it is.
// The system counts whole seconds.
func LimitCPU(pid int, soft, hard time.Duration) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &l); err != nil {
		return fmt.Errorf("read the limit of a reader's processor time: %w", err)
	}
	if hard > 0 {
		l.Max = seconds(hard)
	}
	l.Cur = min(seconds(soft), l.Max)
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, &l, nil); err != nil {
		return fmt.Errorf("limit the processor time of a reader: %w", err)
	}
	return nil
}

func seconds(d time.Duration) uint64 { return uint64((d + time.Second - 1) / time.Second) }

// Yield lowers the priority of a process below that of other readers, or restores it.
// Restoring needs a privilege on most systems.
func Yield(pid int, yield bool) error {
	to := nice
	if yield {
		to = lastNice
	}
	if err := unix.Setpriority(unix.PRIO_PGRP, pid, to); err != nil {
		return fmt.Errorf("set the priority of a reader to %d: %w", to, err)
	}
	return nil
}

// OverCPU reports whether a process was ended because of its processor time. hard is its
// last hard limit, or 0.
func OverCPU(state *os.ProcessState, hard time.Duration) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return false
	}
	used := state.UserTime() + state.SystemTime() // not of the clock that the limit goes by
	return status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL && hard > 0 && used >= hard-time.Second/2
}

// Resident returns how many bytes of memory a process holds, 0 if that is unknown.
func Resident(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 3 {
		return 0
	}
	all, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64) // the program itself, once for all processes
	return (all - shared) * int64(os.Getpagesize())
}
