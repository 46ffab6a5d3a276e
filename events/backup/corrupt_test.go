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
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		v.file(v.folder, "glass")
		accounts := v.mustBackUp().Manifest.Accounts.Name
		const first, second = "log/000001.gz", "log/000002.gz"
		for name, c := range map[string]struct {
			harm func(g ground)
			want string
		}{
			"a flipped byte of a segment": {func(g ground) { flip(g, second, 40) }, second},
			"a byte at a segment's end":   {func(g ground) { g.write(first, append(g.read(first), 0)) }, first},
			"a segment cut short":         {func(g ground) { g.write(first, g.read(first)[:100]) }, first},
			"a missing segment":           {func(g ground) { g.remove(first) }, first},
			"segments that changed places": {func(g ground) {
				one, two := g.read(first), g.read(second)
				g.write(first, two)
				g.write(second, one)
			}, first},
			"a missing original":   {func(g ground) { g.remove(g.original("lamp")) }, sum("lamp")},
			"a changed original":   {func(g ground) { flip(g, g.original("lamp"), 1) }, sum("lamp")},
			"a cut original":       {func(g ground) { g.write(g.original("glass"), []byte("gl")) }, sum("glass")},
			"changed accounts":     {func(g ground) { flip(g, accounts, 1) }, accounts},
			"missing accounts":     {func(g ground) { g.remove(accounts) }, accounts},
			"a manifest that lies": {func(g ground) { lie(g) }, "manifest"},
		} {
			t.Run(name, func(t *testing.T) {
				harmed := *v
				harmed.T, harmed.at = t, v.at.clone()
				c.harm(harmed.at)
				before := harmed.at.listing()
				if problems := harmed.problems(); !strings.Contains(strings.Join(problems, "; "), c.want) {
					t.Errorf("Verification.Run reports %q, want something about %s", problems, c.want)
				}
				if after := harmed.at.listing(); !reflect.DeepEqual(after, before) {
					t.Errorf("Verification.Run changes files: %v, before %v", after, before)
				}
				if _, err := restore(t, harmed.at.place()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Restore.Run = %v, want an error that names %s", err, c.want)
				}
			})
		}
	})
}

func TestBackupRefusesIncompletePlace(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		whole, segment, original := v.at, "log/000001.gz", v.at.original("lamp")
		for name, harm := range map[string]func(g ground){
			"a missing segment":   func(g ground) { g.remove(segment) },
			"a segment cut short": func(g ground) { g.write(segment, g.read(segment)[:100]) },
			"a missing original":  func(g ground) { g.remove(original) },
			"a cut original":      func(g ground) { g.write(original, []byte("la")) },
			"no files":            func(g ground) { g.remove(segment); g.remove(original) },
		} {
			harmed := *v
			harmed.at = whole.clone()
			harm(harmed.at)
			if _, err := harmed.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is damaged") {
				t.Errorf("%s: a backup into it = %v, want a conflict", name, err)
			}
		}
	})
}

// refusing is a place whose segments the machine does not read.
type refusing struct {
	backup.Place
	err error
}

func (r refusing) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if strings.HasPrefix(name, "log/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: r.err}
	}
	return r.Place.Open(ctx, name)
}

func TestMachineErrorsAreNotBackupProblems(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	v.file(v.folder, "lamp")
	v.mustBackUp()
	for refusal, ofBackup := range map[error]bool{syscall.EMFILE: false, syscall.EACCES: false, syscall.EIO: true} {
		reported := 0
		verification := &backup.Verification{
			Place: refusing{v.at.place(), refusal}, Load: load(t), Progress: func(string, int64, int64) {},
			Report: func(string) { reported++ },
		}
		_, problems, err := verification.Run(t.Context())
		if (problems > 0) != ofBackup || (reported > 0) != ofBackup || errors.Is(err, refusal) == ofBackup {
			t.Errorf("%v: Verification.Run = %d problems, %v", refusal, problems, err)
		}
	}
}
