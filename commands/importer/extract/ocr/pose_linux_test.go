package ocr

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hanging is a language that takes for ever.
const hanging = "hanging"

const probeFile = "/tmp/annals-ocr-probe"

func testBinary(t *testing.T) string {
	path, err := filepath.EvalSymlinks(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// pose acts as Tesseract that was taken over: it tries what the sandbox must refuse, and prints
// the results as recognised words. With the language "wait" it waits first, and with "spin" it
// computes for ever.
func pose() {
	startThreads()
	if slices.Contains(os.Args, hanging) {
		time.Sleep(time.Hour)
	}
	io.Copy(io.Discard, os.Stdin)
	switch {
	case slices.Contains(os.Args, "wait"):
		time.Sleep(waiting)
	case slices.Contains(os.Args, "spin"):
		//lint:ignore SA5002 it poses as a program that uses CPU time without end
		for {
		}
	}
	server := func() int { // the process that started the one that started this one
		return os.Getppid()
	}
	probes := map[string]func() error{
		"read":      func() error { _, err := os.ReadFile("/etc/hostname"); return err },
		"list":      func() error { _, err := os.ReadDir("/"); return err },
		"write":     func() error { return os.WriteFile(probeFile, nil, 0o600) },
		"parent":    func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", server())); return err },
		"picture":   func() error { _, err := os.OpenFile(pictureName, os.O_RDWR, 0); return err },
		"overwrite": func() error { _, err := unix.Pwrite(3, []byte("P5"), 0); return err },
		"truncate":  func() error { return unix.Ftruncate(3, 0) },
		"connect":   func() error { _, err := net.Dial("udp", "127.0.0.1:53"); return err },
		"listen":    func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"socket":    func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
		"execute":   func() error { return exec.Command("/bin/true").Run() },
		"replace":   func() error { return unix.Exec("/bin/true", []string{"true"}, nil) },
		"signal":    func() error { return unix.Kill(server(), 0) },
		"pidfd":     func() error { _, err := unix.PidfdOpen(server(), 0); return err },
		"limit":     func() error { return unix.Prlimit(server(), unix.RLIMIT_NPROC, &unix.Rlimit{}, nil) },
		"survive":   func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) },
		"session":   func() error { _, err := unix.Setsid(); return err },
		"group":     func() error { return unix.Setpgid(0, 0) },
		"memory": func() error {
			_, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			return err
		},
		"code": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
			return err
		},
		"share": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ, unix.MAP_ANON|unix.MAP_SHARED)
			return err
		},
		"namespace": func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"trace":     func() error { return unix.PtraceAttach(server()) },
	}
	var row strings.Builder
	row.WriteString("level\tpage_num\n4\t1\t1\t1\t1\t0\t0\t0\t9\t9\t-1\t\n")
	for _, name := range slices.Sorted(maps.Keys(probes)) {
		result := "done"
		if probes[name]() != nil {
			result = "denied"
		}
		fmt.Fprintf(&row, "5\t1\t1\t1\t1\t1\t1\t1\t5\t5\t96.5\t%s=%s\n", name, result)
	}
	// Enough letters for the text to be good.
	os.Stdout.WriteString(row.String())
}

// startThreads starts the threads that Go needs later, because the program may start none then.
func startThreads() {
	var started, ended sync.WaitGroup
	started.Add(6)
	for range 6 {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			started.Wait()
		})
	}
	ended.Wait()
}
