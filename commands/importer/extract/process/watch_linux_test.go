package process

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// niceOf returns the nice value of a process.
func niceOf(t *testing.T, p *Process) int {
	t.Helper()
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, p.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return 20 - prio // the system call returns 20 minus the nice value
}

func TestLongRequestYields(t *testing.T) {
	pool := poolOf(t, Config{})
	p := take(t, pool, true)
	nice := niceOf(t, p)
	if err := p.Begin(time.Minute); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := p.ask(ctx, kindSpin, "", nil, time.Minute)
		result <- err
	}()
	for begun := time.Now(); niceOf(t, p) <= nice; time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("the nice value of a busy process is still %d", nice)
		}
	}
	p.stopWatch()
	if now := niceOf(t, p); now != nice && !p.Unusable {
		t.Errorf("nice value = %d in a process that is reused, want %d", now, nice)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestShortRequestDoesNotYield(t *testing.T) {
	p := take(t, poolOf(t, Config{}), true)
	nice := niceOf(t, p)
	if err := p.Begin(time.Minute); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * pollInterval)
	if now := niceOf(t, p); now != nice {
		t.Errorf("nice value of a waiting process = %d, want %d", now, nice)
	}
}
