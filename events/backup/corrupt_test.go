package backup_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"annals/events/backup"
	"annals/events/fault"
)

func TestCorruptBackupIsNotRestored(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		v.file(v.folder, "glass")
		accounts := v.mustBackUp().Manifest.Accounts.Name
		const first, second = "log/000001.gz", "log/000002.gz"
		for name, c := range map[string]struct {
			corrupt func(g target)
			want    string
		}{
			"a flipped byte of a segment": {func(g target) { flip(g, second, 40) }, second},
			"a byte at a segment's end":   {func(g target) { g.write(first, append(g.read(first), 0)) }, first},
			"a truncated segment":         {func(g target) { g.write(first, g.read(first)[:100]) }, first},
			"a missing segment":           {func(g target) { g.remove(first) }, first},
			"swapped segments": {func(g target) {
				one, two := g.read(first), g.read(second)
				g.write(first, two)
				g.write(second, one)
			}, first},
			"a missing original":   {func(g target) { g.remove(g.original("lamp")) }, sum("lamp")},
			"a changed original":   {func(g target) { flip(g, g.original("lamp"), 1) }, sum("lamp")},
			"a truncated original": {func(g target) { g.write(g.original("glass"), []byte("gl")) }, sum("glass")},
			"changed accounts":     {func(g target) { flip(g, accounts, 1) }, accounts},
			"missing accounts":     {func(g target) { g.remove(accounts) }, accounts},
			"a forged digest":      {func(g target) { forgeDigest(g) }, "manifest"},
		} {
			t.Run(name, func(t *testing.T) {
				changed := *v
				changed.T, changed.at = t, v.at.clone()
				c.corrupt(changed.at)
				before := changed.at.listing()
				if problems := changed.problems(); !strings.Contains(strings.Join(problems, "; "), c.want) {
					t.Errorf("Verification.Run: got problems %q, want one about %s", problems, c.want)
				}
				if after := changed.at.listing(); !reflect.DeepEqual(after, before) {
					t.Errorf("files after Verification.Run: got %v, want %v", after, before)
				}
				if _, err := restore(t, changed.at.location()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Restore.Run: got error %v, want one about %s", err, c.want)
				}
			})
		}
	})
}

func TestBackupRefusesCorruptLocation(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		whole, segment, original := v.at, "log/000001.gz", v.at.original("lamp")
		for name, corrupt := range map[string]func(g target){
			"a missing segment":    func(g target) { g.remove(segment) },
			"a truncated segment":  func(g target) { g.write(segment, g.read(segment)[:100]) },
			"a missing original":   func(g target) { g.remove(original) },
			"a truncated original": func(g target) { g.write(original, []byte("la")) },
			"no files":             func(g target) { g.remove(segment); g.remove(original) },
		} {
			changed := *v
			changed.at = whole.clone()
			corrupt(changed.at)
			if _, err := changed.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is corrupt") {
				t.Errorf("%s: Backup.Run: got error %v, want a conflict", name, err)
			}
		}
	})
}

// refusing is a location whose segments cannot be opened.
type refusing struct {
	backup.Location
	err error
}

func (r refusing) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if strings.HasPrefix(name, "log/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: r.err}
	}
	return r.Location.Open(ctx, name)
}

func TestMachineErrorsAreNotBackupProblems(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	v.file(v.folder, "lamp")
	v.mustBackUp()
	for failure, ofBackup := range map[error]bool{syscall.EMFILE: false, syscall.EACCES: false, syscall.EIO: true} {
		reported := 0
		verification := &backup.Verification{
			Location: refusing{v.at.location(), failure}, Load: load(t), Progress: func(string, int64, int64) {},
			Report: func(string) { reported++ },
		}
		_, problems, err := verification.Run(t.Context())
		if (problems > 0) != ofBackup || (reported > 0) != ofBackup || errors.Is(err, failure) == ofBackup {
			t.Errorf("Verification.Run with %v: got %d problems, %v, want it as a problem: %t", failure, problems, err, ofBackup)
		}
	}
}
