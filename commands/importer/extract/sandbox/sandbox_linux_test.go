package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain runs the tests or, in a child process, enters only the system call filter,
// without Landlock, and tries to signal another process.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "signal" {
		os.Exit(m.Run())
	}
	victim, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = filterCalls(false)
	}
	if err != nil {
		fmt.Println("not filtered:", err)
		os.Exit(1)
	}
	for _, try := range signalTries {
		fmt.Printf("%s: %v\n", try.name, try.do(victim))
	}
	fmt.Println("itself:", unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGURG))
}

var signalTries = []struct {
	name string
	do   func(victim int) error
}{
	{"tgkill", func(victim int) error { return unix.Tgkill(victim, victim, unix.SIGTERM) }},
	{"owner of a descriptor", func(victim int) error { return fcntl(unix.F_SETOWN, victim) }},
	{"signal of a descriptor", func(int) error { return fcntl(unix.F_SETSIG, int(unix.SIGTERM)) }},
	{"signals by a descriptor", func(int) error { return fcntl(unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK) }},
	{"lease", func(int) error { return fcntl(unix.F_SETLEASE, unix.F_RDLCK) }},
}

func fcntl(command, argument int) error {
	_, err := unix.FcntlInt(0, command, argument)
	return err
}

func TestFilterRefusesSignals(t *testing.T) {
	victim := exec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()
	defer func() {
		victim.Process.Kill()
		<-ended
	}()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	child := exec.Command(os.Args[0], "signal", strconv.Itoa(victim.Process.Pid))
	child.Stdin = theirs
	out, err := child.CombinedOutput()
	if strings.Contains(string(out), "not filtered") {
		t.Skipf("no seccomp here: %s", out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, try := range signalTries {
		if want := try.name + ": operation not permitted"; !strings.Contains(string(out), want) {
			t.Errorf("the filtered process printed %q, want %q", out, want)
		}
	}
	if !strings.Contains(string(out), "itself: <nil>") {
		t.Errorf("the process cannot signal itself, which Go needs: %q", out)
	}
	if _, err := ours.Write([]byte("x")); err != nil { // would send the signal set with F_SETSIG to the descriptor's owner
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Errorf("the other process exited: %v", err)
		ended <- err
	case <-time.After(50 * time.Millisecond):
	}
}
