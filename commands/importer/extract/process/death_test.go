//go:build !race

// Not with the race detector, which needs far more memory than these processes may use.

package process

import (
	"runtime"
	"testing"
	"time"
)

func TestDeathCauses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits processes")
	}
	const limit = 128 << 20
	pool := poolOf(t, Config{Memory: limit})
	for _, c := range []struct {
		kind Kind
		want Cause
		do   func(*Process)
	}{
		{kindSwell, OverMemory, nil},
		{kindSpin, OverCPU, nil},
		{kindIgnore, OverCPU, nil},
		{kindPanic, Failed, nil},
		{kindHang, TimedOut, nil},
		{kindHang, Killed, func(p *Process) { p.Kill() }},
	} {
		p := take(t, pool, true)
		cpu := time.Second
		if c.kind == kindIgnore {
			cpu = time.Millisecond // so that the hard limit, at which the system kills the process, is one second
		}
		if err := p.Begin(cpu); err != nil {
			t.Fatal(err)
		}
		timeout := time.Minute
		if c.want == TimedOut {
			timeout = 100 * time.Millisecond
		}
		if c.do != nil {
			time.AfterFunc(100*time.Millisecond, func() { c.do(p) })
		}
		begun := time.Now()
		_, err := p.ask(t.Context(), c.kind, "", nil, timeout)
		if !IsEnd(err) {
			t.Errorf("request %d: %v, want the end of the process", c.kind, err)
			continue
		}
		if d := p.Died(); d.Cause != c.want {
			t.Errorf("request %d after %v: %+v, want cause %d", c.kind, time.Since(begun), d, c.want)
		}
		if usage := p.maxResident(); c.want == OverMemory && (usage > limit || usage < limit/2) {
			t.Errorf("a process with a limit of %d MiB used %d MiB", limit>>20, usage>>20)
		}
	}
	if n := pool.Idle(); n != 0 {
		t.Errorf("%d dead processes are idle, want 0", n)
	}
}
