package mcp

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/events"
)

// openBelow opens only files below the root, even while files and folders are replaced by
// links.
func TestOpenBelowFollowsNoLinks(t *testing.T) {
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
				func() error { return os.Rename(file+"1", file) }, // atomically
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
		t.Errorf("%d of 3000 attempts succeeded, %v", opened, err)
	}
}

// A path must end with the name of a file. No spelling of a path leads out of the root.
func TestOpenBelowPaths(t *testing.T) {
	top := t.TempDir()
	inside := filepath.Join(top, "in")
	if err := os.MkdirAll(filepath.Join(inside, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(top, "f"), filepath.Join(inside, "f"), filepath.Join(inside, "dir", "f")} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]error{
		inside + "/f": nil, inside + "/dir/f": nil,
		inside + "/f/": errUnclean, inside + "/f//": errUnclean, inside + "/f/.": errUnclean, inside + "/f/./": errUnclean, inside + "/dir/f/": errUnclean,
		inside + "//f": nil, inside + "/./f": nil, inside + "/dir//f": nil, "/" + inside + "/f": nil, top + "/f/": errUnclean, top + "//f": errOutside,
		inside + "/f/..": errOutside, inside + "/dir/../f": errOutside, inside + "/../f": errOutside, inside + "/f/../f": errOutside,
		top + "/f": errOutside, inside + "f": errOutside, "f": errOutside, "./f": errOutside, "": errOutside, "/": errUnclean,
		inside: errNoFile, inside + "/": errUnclean, inside + "/dir": errNoFile, inside + "/dir/": errUnclean, inside + "/f/x": errMissing, inside + "/f\x00": nil,
	} {
		f, err := openBelow([]root{root(inside)}, path)
		if err == nil {
			f.Close()
		}
		if path == inside+"/f\x00" {
			want = err
			if err == nil {
				t.Errorf("openBelow(%q) opened a file", path)
			}
		}
		if !errors.Is(err, want) {
			t.Errorf("openBelow(%q) = %v, want %v", path, err, want)
		}
	}
}

func TestJobReportsFileOutcomes(t *testing.T) {
	for _, c := range []struct {
		outcome   string
		duplicate bool
		want      string
	}{
		{events.OutcomeCreated, true, "imported, "}, {events.OutcomeUpdated, true, "updated, "}, {events.OutcomeUnchanged, true, "was there before, "},
		{events.OutcomeUnchanged, false, "was there before, "}, {"", true, "was there before, "}, {"", false, "imported, "},
	} {
		if got := (jobResult{Success: true, Outcome: c.outcome, Duplicate: c.duplicate}).outcome(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, duplicate %v: %q, want %q", c.outcome, c.duplicate, got, c.want)
		}
	}
}
