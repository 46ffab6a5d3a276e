package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func poolOf(t *testing.T, config Config) *Pool {
	config.Command = []string{os.Args[0], "probe"}
	p := NewPool(config)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func take(t *testing.T, pool *Pool, fresh bool) *Process {
	t.Helper()
	p, err := pool.Take(t.Context(), fresh)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Unusable = true
		pool.Release(p)
	})
	return p
}

// ask sends a request and returns the response.
func (p *Process) ask(ctx context.Context, k Kind, payload string, file *os.File, timeout time.Duration) (string, error) {
	if err := p.Send(k, []byte(payload), file); err != nil {
		return "", err
	}
	k, answer, err := p.Receive(ctx, timeout)
	if err == nil && k != kindAnswer {
		err = errors.New("unexpected frame")
	}
	return string(answer), err
}

func TestFileIsPassedToProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("its content"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := take(t, poolOf(t, Config{}), true)
	for range 3 {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.ask(t.Context(), kindFile, path, file, time.Minute)
		file.Close()
		if got != "its content" || err != nil {
			t.Fatalf("the process read %q, %v, want the content", got, err)
		}
	}
}

func TestCancelledContextKillsProcess(t *testing.T) {
	p := take(t, poolOf(t, Config{}), true)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := p.ask(ctx, kindHang, "", nil, time.Minute); err != context.Canceled {
		t.Errorf("Receive: %v, want %v", err, context.Canceled)
	}
	if p.Died(); p.alive() {
		t.Error("the process is alive")
	}
}

// A process is not killed while its time grows, and then as soon as none is left.
func TestTimeoutMayGrow(t *testing.T) {
	p := take(t, poolOf(t, Config{}), true)
	if err := p.Send(kindHang, nil, nil); err != nil {
		t.Fatal(err)
	}
	var asked, alive atomic.Int32
	_, _, err := p.ReceiveWhile(t.Context(), func() time.Duration {
		if p.alive() {
			alive.Add(1)
		}
		if asked.Add(1) > 4 {
			return 0
		}
		return 50 * time.Millisecond
	})
	if !IsEnd(err) || asked.Load() != 5 || alive.Load() != 5 {
		t.Errorf("ReceiveWhile: %v after asking %d times for the time, %d of them while the process ran, want 5 times", err, asked.Load(), alive.Load())
	}
	if d := p.Died(); d.Cause != TimedOut {
		t.Errorf("the process died because of %v, want %v", d.Cause, TimedOut)
	}
}

func TestDeadProcessIsNotReused(t *testing.T) {
	pool := poolOf(t, Config{})
	p, err := pool.Take(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	pool.Release(p)
	p.Kill()
	<-p.exited
	again := take(t, pool, false)
	if got, err := again.ask(t.Context(), kindProbe, "environment", nil, time.Minute); err != nil || again == p {
		t.Errorf("the process that Take returned responded %q, %v; want a new one", got, err)
	}
}

func TestSandboxReport(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the sandbox")
	}
	t.Setenv("ANNALS_TEST_SECRET", "s3cret")
	report := take(t, poolOf(t, Config{Memory: 128 << 20}), true).Report.String()
	t.Log(report)
	for _, want := range []string{"empty environment", "no descriptors", "low priority", "memory limit of 128 MiB", "CPU limit", "limits of files and cores", "no signals to other processes"} {
		if holds, _, _ := strings.Cut(report, "; lacks"); !strings.Contains(holds, want) {
			t.Errorf("report = %q, want %q in force", report, want)
		}
	}
}
