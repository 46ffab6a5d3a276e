package backup_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"annals/events/fault"
)

func TestWhatWasHarmedIsToldAndNotRestored(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(v.folder, "lamp")
	v.mustBackUp()
	v.file(v.folder, "glass")
	accounts := v.mustBackUp().Manifest.Accounts.Name
	whole := v.backups
	for name, c := range map[string]struct {
		harm func(dir string) error
		want string
	}{
		"a flipped byte of a segment": {func(dir string) error { return flip(filepath.Join(dir, "log", "000002.gz"), 40) }, "log/000002.gz"},
		"a byte at a segment's end":   {func(dir string) error { return grow(filepath.Join(dir, "log", "000001.gz")) }, "log/000001.gz"},
		"a segment cut short":         {func(dir string) error { return os.Truncate(filepath.Join(dir, "log", "000001.gz"), 100) }, "log/000001.gz"},
		"a missing segment":           {func(dir string) error { return os.Remove(filepath.Join(dir, "log", "000001.gz")) }, "log/000001.gz"},
		"segments that changed places": {func(dir string) error {
			first, second := filepath.Join(dir, "log", "000001.gz"), filepath.Join(dir, "log", "000002.gz")
			return errors.Join(os.Rename(first, first+"x"), os.Rename(second, first), os.Rename(first+"x", second))
		}, "log/000001.gz"},
		"a missing original":   {func(dir string) error { return os.Remove(path(filepath.Join(dir, "originals"), "lamp")) }, sum("lamp")},
		"a changed original":   {func(dir string) error { return flip(path(filepath.Join(dir, "originals"), "lamp"), 1) }, sum("lamp")},
		"a cut original":       {func(dir string) error { return os.Truncate(path(filepath.Join(dir, "originals"), "glass"), 2) }, sum("glass")},
		"changed accounts":     {func(dir string) error { return flip(filepath.Join(dir, accounts), 1) }, accounts},
		"a manifest that lies": {func(dir string) error { return lie(filepath.Join(dir, "manifest.json")) }, "manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			harmed := *v
			harmed.T, harmed.backups = t, filepath.Join(t.TempDir(), "backup")
			if err := os.CopyFS(harmed.backups, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := c.harm(harmed.backups); err != nil {
				t.Fatal(err)
			}
			before := listing(t, harmed.backups)
			if problems := harmed.problems(); !strings.Contains(filepath.ToSlash(strings.Join(problems, "; ")), c.want) {
				t.Errorf("Verification.Run tells %q, want something of %s", problems, c.want)
			}
			if after := listing(t, harmed.backups); !reflect.DeepEqual(after, before) {
				t.Errorf("Verification.Run changes files: %v, before %v", after, before)
			}
			if _, err := restore(t, harmed.backups); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), c.want) {
				t.Errorf("Restore.Run = %v, want an error that names %s", err, c.want)
			}
		})
	}
}

func flip(path string, at int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[at] ^= 1
	return os.WriteFile(path, b, 0o600)
}

func grow(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, 0), 0o600)
}

// lie makes a manifest tell another digest of the whole than of its parts.
func lie(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(string(b), `"digest": "`)
	return os.WriteFile(path, []byte(before+`"digest": "`+strings.Repeat("0", 64)+after[64:]), 0o600)
}

// listing is every file with its size and date.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = fmt.Sprint(info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestNothingIsAddedToABackupThatLacksFiles(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(v.folder, "lamp")
	v.mustBackUp()
	whole := v.backups
	segment, original := filepath.Join("log", "000001.gz"), path("originals", "lamp")
	for name, harm := range map[string]func(dir string) error{
		"a missing segment":   func(dir string) error { return os.Remove(filepath.Join(dir, segment)) },
		"a segment cut short": func(dir string) error { return os.Truncate(filepath.Join(dir, segment), 100) },
		"a missing original":  func(dir string) error { return os.Remove(filepath.Join(dir, original)) },
		"a cut original":      func(dir string) error { return os.Truncate(filepath.Join(dir, original), 2) },
		"no originals":        func(dir string) error { return os.RemoveAll(filepath.Join(dir, "originals")) },
	} {
		harmed := *v
		harmed.backups = filepath.Join(t.TempDir(), "backup")
		if err := errors.Join(os.CopyFS(harmed.backups, os.DirFS(whole)), harm(harmed.backups)); err != nil {
			t.Fatal(err)
		}
		if _, err := harmed.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: a backup into it = %v, want a conflict", name, err)
		}
	}
}
