package process

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// niceOf returns how far a process ranks behind others.
func niceOf(t *testing.T, p *Process) int {
	t.Helper()
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, p.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return 20 - prio // as the system call has it
}

func TestLongRequestYields(t *testing.T) {
	pool := poolOf(t, Config{})
	p := take(t, pool, true)
	ranks := niceOf(t, p)
	if err := p.Begin(time.Minute); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		_, err := p.ask(ctx, kindSpin, "", nil, time.Minute)
		answered <- err
	}()
	for begun := time.Now(); niceOf(t, p) <= ranks; time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("a process that computes for long ranks at %d still", ranks)
		}
	}
	p.stopWatch()
	if now := niceOf(t, p); now != ranks && !p.Unusable {
		t.Errorf("it ranks at %d and is used again, want %d", now, ranks)
	}
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestShortRequestDoesNotYield(t *testing.T) {
	p := take(t, poolOf(t, Config{}), true)
	ranks := niceOf(t, p)
	if err := p.Begin(time.Minute); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * lookEvery)
	if now := niceOf(t, p); now != ranks {
		t.Errorf("a process that waits ranks at %d, want %d", now, ranks)
	}
}
