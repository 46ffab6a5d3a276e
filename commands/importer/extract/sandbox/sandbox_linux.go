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
	nice      = 10  // nice value of readers: other processes have priority
	lowNice   = 15  // nice value of readers with a long request: other readers have priority
	leastNice = 19  // nice value of programs: everything else has priority
	oomScore  = 800 // if memory runs out, the kernel kills readers first
	maxFiles  = 64  // open descriptors: the file, those of Go, and a margin
	// maxUntouched limits the memory that counts as allocated but untouched: 70 MiB of
	// Go's runtime, and stacks of the C library, 8 MiB for each thread.
	maxUntouched = 224 << 20
	programPages = 40 << 20 // bytes of the program that may be loaded later
	// maxReserved limits the addresses that are reserved and not used: Go reserves them in pieces
	// of 64 MiB.
	maxReserved = 64 << 20
)

// Configure prepares a command that is not started yet. The process inherits no environment
// and only the standard descriptors, and gets its own process group. It is killed when the
// thread that started it ends. Go's threads usually end with the program. The exception is a
// goroutine that locked its thread and returned, so goroutines that start readers must not
// lock their thread (golang/go#27505).
func Configure(cmd *exec.Cmd) {
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Go opens all descriptors with close-on-exec, but descriptors that this program has
	// inherited may lack the flag. If the kernel is too old for CloseRange, the sandbox
	// report of the child process lists the descriptors that the child inherited.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// Begin sets the priority of the process, and restores the default action for the signal of
// the CPU limit, because Go would ignore that signal. Call Begin before everything else.
func Begin() {
	// PRIO_PROCESS would set the priority of one thread only. The process group contains
	// all threads of this process, and no other process.
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, nice)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oomScore)), 0)
	var byDefault [64]byte // struct sigaction with SIG_DFL, on every architecture
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGXCPU), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
}

// BeginProgram is like Begin, but for a process that executes a program, which takes seconds.
func BeginProgram() {
	Begin()
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, leastNice)
}

// Enter restricts the process permanently: it can use its memory, threads and open
// descriptors, and open nothing else, unless the rules name a program. It reports which
// measures are in force.
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
	dropProgramPages()
	if rules.Memory > 0 {
		r.Note(fmt.Sprintf("memory limit of %d MiB", rules.Memory>>20), limitMemory(rules))
	}
	var errs []error
	for _, l := range []struct {
		resource int
		limit    uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_NOFILE, maxFiles}, {unix.RLIMIT_MEMLOCK, 0}, {unix.RLIMIT_MSGQUEUE, 0}} {
		errs = append(errs, limit(l.resource, l.limit))
	}
	r.Note("limits of files and cores", errors.Join(errs...))
	abi, err := landlocked(rules.Program)
	measure := "Landlock"
	if err == nil {
		measure += " ABI " + strconv.Itoa(abi)
	}
	r.Note(measure, err)
	err = filterCalls(rules.Program != nil)
	r.Note("seccomp", err)
	// The filter lets a process with a program signal its children by their descriptors. Only
	// Landlock keeps it from opening those of other processes.
	if abi < scopedSignals && (err != nil || abi == 0 && rules.Program != nil) {
		r.Note("no signals to other processes", errors.New("needs seccomp or Landlock ABI "+strconv.Itoa(scopedSignals)))
	} else {
		r.Note("no signals to other processes", nil)
	}
	return r
}

// dropProgramPages unmaps the loaded pages of the program's file. About 40 MiB of them were
// needed only for the start. The kernel loads a page again when it is needed.
func dropProgramPages() {
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	var start, end uintptr // of a read-only mapping of a file
	for line := range strings.Lines(string(smaps)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 6 && len(fields[1]) == 4 && !strings.HasSuffix(fields[0], ":"):
			if start, end = 0, 0; fields[1][1] == '-' && fields[1][3] == 'p' && strings.HasPrefix(fields[5], "/") {
				fmt.Sscanf(fields[0], "%x-%x", &start, &end)
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && end > start: // and no page was ever written to
			_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, start, end-start, unix.MADV_DONTNEED)
		}
	}
}

// limitMemory makes the system refuse memory beyond rules.Memory. The system's limit is for
// allocated writable memory only. So limitMemory adds the memory that Go's runtime allocates
// but never touches, and subtracts the program's pages, which are part of rules.Memory.
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
	// The kernel lets a process exceed RLIMIT_DATA once, by a mapping of any size over addresses
	// that it has reserved before, as Go does it. So limit these addresses, too.
	if err := limit(unix.RLIMIT_AS, uint64(kib("VmSize")<<10+rules.Memory+maxReserved)); err != nil {
		return err
	}
	untouched := max(0, (kib("VmData")-kib("RssAnon"))<<10-rules.Reserved)
	if rules.Program != nil { // the program has all of the memory
		return limit(unix.RLIMIT_DATA, uint64(rules.Memory+min(untouched, maxUntouched)))
	}
	return limit(unix.RLIMIT_DATA, uint64(max(0, rules.Memory-kib("RssFile")<<10-programPages)+min(untouched, maxUntouched)))
}

// limit sets a resource limit of this process, which it cannot raise again.
func limit(resource int, value uint64) error {
	err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
	if err != nil {
		return fmt.Errorf("set resource limit %d: %w", resource, err)
	}
	return nil
}

// inherited returns an error that lists inherited descriptors other than the standard ones.
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
		if err == nil && flags&unix.FD_CLOEXEC == 0 { // descriptors opened by this process have the flag
			found = append(found, e.Name())
		}
	}
	if len(found) > 0 {
		return errors.New("inherited " + strings.Join(found, ", "))
	}
	return nil
}

// Kill kills a process that Configure has prepared, and the programs that it runs. The process
// must not have been waited for.
func Kill(process *os.Process) {
	// The process leads a group, which neither it nor its children can leave.
	if unix.Kill(-process.Pid, unix.SIGKILL) != nil {
		_ = process.Kill() // the process has exited
	}
}

// LimitProgram limits a program that the sandboxed process parent runs: it can start neither
// processes nor threads, unless it runs as root, and use at most memory bytes of writable
// memory.
func LimitProgram(parent, pid int, memory int64) error {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return fmt.Errorf("limit a program of a reader process: %w", err)
	}
	if !bytes.Contains(status, []byte("\nPPid:\t"+strconv.Itoa(parent)+"\n")) {
		return errors.New("limit a program of a reader process: it did not start that program")
	}
	for resource, value := range map[int]uint64{unix.RLIMIT_NPROC: 0, unix.RLIMIT_DATA: uint64(memory)} {
		var l unix.Rlimit
		err := unix.Prlimit(pid, resource, nil, &l)
		l.Max = min(l.Max, value)
		l.Cur = l.Max
		if err == nil {
			err = unix.Prlimit(pid, resource, &l, nil)
		}
		if err != nil {
			return fmt.Errorf("set limit %d of a program of a reader process: %w", resource, err)
		}
	}
	return nil
}

// UsedCPU returns the CPU time that a process has used.
func UsedCPU(pid int) (time.Duration, error) {
	var used unix.Timespec
	const processClock = 2 // CLOCK_PROCESS_CPUTIME_ID of another process
	if err := unix.ClockGettime(int32(^uint32(pid)<<3|processClock), &used); err != nil {
		return 0, fmt.Errorf("read the CPU time of a reader process: %w", err)
	}
	return time.Duration(used.Nano()), nil
}

// LimitCPU makes the system send a signal to a process when its total CPU time reaches soft,
// and kill it when the time reaches hard. If hard is 0, the hard limit does not change. A
// hard limit cannot be raised later. Limits are rounded up to seconds.
func LimitCPU(pid int, soft, hard time.Duration) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &l); err != nil {
		return fmt.Errorf("read the CPU limit of a reader process: %w", err)
	}
	if hard > 0 {
		l.Max = seconds(hard)
	}
	l.Cur = min(seconds(soft), l.Max)
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, &l, nil); err != nil {
		return fmt.Errorf("set the CPU limit of a reader process: %w", err)
	}
	return nil
}

func seconds(d time.Duration) uint64 { return uint64((d + time.Second - 1) / time.Second) }

// Yield lowers the priority of a process below that of other readers or, if yield is false,
// restores it. Restoring needs a privilege on most systems.
func Yield(pid int, yield bool) error {
	to := nice
	if yield {
		to = lowNice
	}
	if err := unix.Setpriority(unix.PRIO_PGRP, pid, to); err != nil {
		return fmt.Errorf("set the nice value of a reader process to %d: %w", to, err)
	}
	return nil
}

// OverCPU reports whether a process died because of its CPU limit. hard is its hard limit, or
// 0 if it has none.
func OverCPU(state *os.ProcessState, hard time.Duration) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return false
	}
	used := state.UserTime() + state.SystemTime() // differs a little from the clock of the limit
	return status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL && hard > 0 && used >= hard-time.Second/2
}

// Resident returns the resident memory of a process in bytes, without memory that it shares
// with other processes. It returns 0 if the size is unknown.
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
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64) // shared pages, mostly of the program
	return (all - shared) * int64(os.Getpagesize())
}
