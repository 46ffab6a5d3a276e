package mcp

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// However files and folders are replaced by links while they are opened, what
// is read lies below the root.
func TestOpenBelowIsNotLedAstray(t *testing.T) {
	top := t.TempDir()
	inside, outside := filepath.Join(top, "in"), filepath.Join(top, "out")
	for dir, text := range map[string]string{filepath.Join(inside, "dir"): "inside", outside: "outside"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swapped := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		dir, file := filepath.Join(inside, "dir"), filepath.Join(inside, "dir", "f")
		for {
			select {
			case <-stop:
				swapped <- nil
				return
			default:
			}
			for _, step := range []func() error{
				func() error { return os.Rename(file, file+"1") },
				func() error { return os.Symlink(filepath.Join(outside, "f"), file) },
				func() error { return os.Rename(file+"1", file) }, // in one step
				func() error { return os.Rename(dir, dir+"1") },
				func() error { return os.Symlink(outside, dir) },
				func() error { return os.Remove(dir) },
				func() error { return os.Rename(dir+"1", dir) },
			} {
				if err := step(); err != nil {
					swapped <- err
					return
				}
			}
		}
	}()
	opened := 0
	for range 3000 {
		f, err := openBelow([]root{root(inside)}, filepath.Join(inside, "dir", "f"))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(text) != "inside" {
			t.Errorf("read %q, %v", text, err)
			break
		}
		opened++
	}
	close(stop)
	if err := <-swapped; err != nil || opened == 0 {
		t.Errorf("%d of 3000 were opened, %v", opened, err)
	}
}
