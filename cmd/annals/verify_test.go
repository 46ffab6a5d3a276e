package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// filed starts a server on a new data folder, imports files into it, and returns the
// running server.
func filed(t *testing.T, dir string, files map[string]string) *serverProcess {
	t.Helper()
	server, err := startServer(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.end(os.Kill) })
	if err := importFiles(t, dir, "filed", files); err != nil {
		t.Fatal(err)
	}
	return server
}

// importFiles writes files to a new directory next to the data folder in dir, and
// imports the directory.
func importFiles(t *testing.T, dir, folder string, files map[string]string) error {
	from := filepath.Join(dir, folder)
	if err := os.MkdirAll(from, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	args := []string{"import", "--data", filepath.Join(dir, "annals-data"), "--state", from + ".state", from}
	return run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard)
}

// verified returns the output of annals verify for a data folder.
func verified(t *testing.T, data string, args ...string) (string, error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	err := run(t.Context(), append([]string{"verify", "--data", data}, args...), strings.NewReader(""), &out, io.Discard)
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("verify did not remove %s", left[0].Name())
	}
	return out.String(), err
}

func TestVerifyReportsCorruption(t *testing.T) {
	dir := t.TempDir()
	server := filed(t, dir, map[string]string{"lamp.md": "# Lamp\n\nThe lamp burned oil.\n", "glass.md": "# Glass\n\nThe glass was blown.\n"})
	if err := server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		harm func(t *testing.T, data string) error
		args []string
		want []string // parts of the expected output; nil if verify succeeds
	}{
		"nothing": {func(*testing.T, string) error { return nil }, nil, nil},
		"a flipped byte of a text": {func(t *testing.T, data string) error {
			return editLog(t, data, `UPDATE events SET data = CAST(replace(data, 'burned oil', 'turned oil') AS BLOB) WHERE type = 'SectionExtracted'`)
		}, nil, []string{"passages     1 problem", `text is "The lamp burned oil.", according to the log "The lamp turned oil."`}},
		"a flipped byte of a name": {func(t *testing.T, data string) error {
			return editLog(t, data, `UPDATE events SET data = CAST(replace(data, '"title":', '"titlf":') AS BLOB) WHERE type = 'DocumentImported' AND instr(data, 'lamp.md')`)
		}, nil, []string{"log          1 problem", "(DocumentImported) at position"}},
		"a gap": {func(t *testing.T, data string) error {
			return editLog(t, data, `DELETE FROM events WHERE stream LIKE 'job-%' AND revision = 1`)
		}, nil, []string{"log          1 problem", "revision 1 is missing before it"}},
		"a missing original": {func(t *testing.T, data string) error { return os.Remove(anOriginal(t, data)) },
			nil, []string{"originals    1 problem"}},
		"a missing original, looked at quickly": {func(t *testing.T, data string) error { return os.Remove(anOriginal(t, data)) },
			[]string{"--quick"}, []string{"originals    1 problem"}},
		"a changed original": {func(t *testing.T, data string) error { return changeByte(anOriginal(t, data)) },
			nil, []string{"originals    1 problem", "have the SHA-256"}},
		"a changed original, looked at quickly": {func(t *testing.T, data string) error { return changeByte(anOriginal(t, data)) },
			[]string{"--quick"}, nil},
		"a row": {func(t *testing.T, data string) error {
			return edit(t, filepath.Join(data, "read-models", "vault-1.db"), `UPDATE documents SET name = 'x.md' WHERE name = 'lamp.md'`)
		}, nil, []string{"vault        1 problem", `name is "x.md", according to the log "lamp.md"`}},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(data, os.DirFS(filepath.Join(dir, "annals-data"))); err != nil {
				t.Fatal(err)
			}
			if err := test.harm(t, data); err != nil {
				t.Fatal(err)
			}
			out, err := verified(t, data, test.args...)
			if (err == nil) != (test.want == nil) {
				t.Errorf("verify ends as %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("verify does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// annals verify must not change the data folder: it does not delete originals that a
// server would sweep, and does not create missing files.
func TestVerifyChangesNothing(t *testing.T) {
	dir := t.TempDir()
	server := filed(t, dir, map[string]string{"lamp.md": "# Lamp\n\nThe lamp burned oil.\n"})
	if err := server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "annals-data")
	leftover, longAgo := filepath.Join(data, "originals", "staging", "leftover"), time.Now().AddDate(0, 0, -3)
	err := errors.Join(os.WriteFile(leftover, nil, 0o600), os.Chtimes(leftover, longAgo, longAgo),
		os.Remove(emptyFolder(t, filepath.Join(data, "originals"))), os.RemoveAll(filepath.Join(data, "search")))
	if err != nil {
		t.Fatal(err)
	}
	before := pathsBelow(t, data)
	out, err := verified(t, data)
	if err == nil || err.Error() != "verify found 1 problem" || !strings.Contains(out, "search index 1 problem") {
		t.Errorf("verify of a folder that has no search index: %v\n%s", err, out)
	}
	if after := pathsBelow(t, data); !slices.Equal(after, before) {
		t.Errorf("verify of\n%q\nleaves\n%q", before, after)
	}
}

// emptyFolder returns a folder below dir that contains nothing.
func emptyFolder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if below, err := os.ReadDir(path); err == nil && len(below) == 0 {
			return path
		}
	}
	t.Fatalf("no folder in %s is empty", dir)
	return ""
}

// pathsBelow returns all files and folders in a folder.
func pathsBelow(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// editLog changes events in the log, after it has dropped the triggers that prevent
// changes.
func editLog(t *testing.T, data, statement string) error {
	path := filepath.Join(data, "log.db")
	return errors.Join(edit(t, path, `DROP TRIGGER events_never_change`), edit(t, path, `DROP TRIGGER events_never_vanish`), edit(t, path, statement))
}

func edit(t *testing.T, path, statement string) error {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(t.Context(), statement)
	return errors.Join(err, db.Close())
}

// anOriginal returns the path of any file in the folder of originals.
func anOriginal(t *testing.T, data string) (path string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(data, "originals"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path = p
			return fs.SkipAll
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no original in %s: %v", data, err)
	}
	return path
}

func changeByte(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[len(content)/2] ^= 1
	return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, content, 0o600))
}

// While a server imports files, annals verify must find no problem, although the active
// generations change while it compares them.
func TestVerifyBesideAnImport(t *testing.T) {
	dir := t.TempDir()
	server := filed(t, dir, map[string]string{"first.md": "The first."})
	imported := make(chan error, 1)
	go func() {
		var err error
		for batch := range 4 {
			files := map[string]string{}
			for n := range 25 {
				files[fmt.Sprintf("%d.md", n)] = fmt.Sprintf("# Note %d of %d\n\n%s", n, batch, strings.Repeat("It tells of lamps and oil. ", 20*n))
			}
			err = errors.Join(err, importFiles(t, dir, fmt.Sprint("batch", batch), files))
		}
		imported <- err
	}()
	for last := false; !last; {
		select {
		case err := <-imported:
			if err != nil {
				t.Fatal(err)
			}
			last = true
		default:
		}
		if out, err := verified(t, filepath.Join(dir, "annals-data")); err != nil {
			t.Fatalf("verify: %v\n%s", err, out)
		}
	}
	if err := server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	out, err := verified(t, filepath.Join(dir, "annals-data"))
	if err != nil || strings.Contains(out, "not compared") || !strings.Contains(out, "101 originals") {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// A server starts although a value in a read model is corrupted. annals verify must
// report it, and a rebuild must repair it.
func TestVerifyAndRebuildAfterUnnoticedCorruption(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "annals-data")
	server := filed(t, dir, map[string]string{"lamp.md": "# Lamp\n\nThe lamp burned oil.\n"})
	if err := server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, "read-models", "passages-1.db")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.ReplaceAll(content, []byte("burned oil"), []byte("burned nil"))
	if bytes.Equal(flipped, content) {
		t.Fatal("the text is not in the file")
	}
	if err := os.WriteFile(path, flipped, 0o600); err != nil {
		t.Fatal(err)
	}
	if server, err = startServer(dir, nil); err != nil {
		t.Fatal(err)
	}
	if err := server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	out, err := verified(t, data)
	if err == nil || !strings.Contains(out, "passages     1 problem") || !strings.Contains(out, `text is "The lamp burned nil.", according to the log "The lamp burned oil."`) {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if err := run(t.Context(), []string{"rebuild", "passages", "--data", data}, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if out, err := verified(t, data); err != nil || strings.Contains(out, "not compared") {
		t.Errorf("verify after a rebuild: %v\n%s", err, out)
	}
}
