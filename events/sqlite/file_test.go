package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqlite"
)

// change runs SQL on a file, like another program.
func change(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	if err := os.WriteFile(path("text"), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	change(t, path("foreign"), `CREATE TABLE bookmarks (url TEXT)`)
	open(t, path("newer")).Close()
	change(t, path("newer"), `PRAGMA user_version = 99`)
	for _, c := range []struct {
		name string
		kind fault.Kind
		want string
	}{
		{"text", fault.Invalid, "not a SQLite database"},
		{"foreign", fault.Invalid, "database of another program"},
		{"newer", fault.Invalid, "format 99, written by a newer version of Annals"},
		{"no/such/folder", fault.Unavailable, "check that its folder exists"},
		{".", fault.Unavailable, "cannot be opened"},
	} {
		before, _ := os.ReadFile(path(c.name))
		d, err := sqlite.Open(t.Context(), path(c.name))
		if err == nil {
			d.Close()
		}
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path(c.name)) {
			t.Errorf("Open(%s): got error %v of kind %v, want kind %v, with %q", c.name, err, fault.KindOf(err), c.kind, c.want)
		}
		if after, _ := os.ReadFile(path(c.name)); !bytes.Equal(before, after) {
			t.Errorf("Open(%s) changed the file", c.name)
		}
	}
}

func TestCorruptFileIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := open(t, path)
	for i := range 20 {
		if _, err := d.Append(t.Context(), "a", int64(i-1), childRecords("a", int64(i-1))[:1]); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[4096:], bytes.Repeat([]byte{0xee}, len(b)-4096))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err = sqlite.Open(t.Context(), path)
	if err == nil {
		defer d.Close()
		_, _, err = d.ReadAll(t.Context(), 0, 100, nil)
	}
	if err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("ReadAll of a corrupt log: got error %v, want one with %q", err, "corrupt")
	}
}

func TestFullDiskIsUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := openWith(t, path, "max_page_count(40)")
	defer d.Close()
	var made int64
	var err error
	for err == nil && made < 1000 {
		if _, err = d.Append(t.Context(), "a", made-1, childRecords("a", made-1)[:1]); err == nil {
			made++
		}
	}
	if !fault.Is(err, fault.Unavailable) || err.Error() != "the log cannot be written at the moment: the disk is full" {
		t.Fatalf("Append to a full disk: got error %v of kind %v", err, fault.KindOf(err))
	}
	if detail := fault.Detail(err); !strings.Contains(detail, path) {
		t.Errorf("Detail: got %q, want it with the file %s", detail, path)
	}
	batch, err := d.ReadStream(t.Context(), "a", 0, 1000)
	if err != nil || int64(len(batch)) != made {
		t.Errorf("ReadStream after the disk was full: got %d records, %v, want the %d acknowledged ones", len(batch), err, made)
	}
	// After the failed append, a smaller append still succeeds.
	small := childRecords("b", -1)[:1]
	small[0].Data = []byte(`{}`)
	if _, err := d.Append(t.Context(), "b", events.NoStream, small); err != nil {
		t.Errorf("Append of a small record to a full disk: %v", err)
	}
}

func TestTriggersForbidChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := open(t, path)
	defer d.Close()
	if _, err := d.Append(t.Context(), "a", events.NoStream, childRecords("a", -1)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{`UPDATE events SET data = x'7b7d'`, `DELETE FROM events WHERE revision = 0`} {
		if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), "an event is never") {
			t.Errorf("%s: got error %v, want that of the trigger", statement, err)
		}
	}
}

func TestConcurrentOpenCreatesOneLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a log % ? #.db") // characters with a meaning in URLs
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer d.Close()
			if _, err := d.Append(t.Context(), "a", events.AnyRevision, childRecords("a", -1)); err != nil {
				t.Errorf("Append: %v", err)
			}
		})
	}
	all.Wait()
	d := open(t, path)
	defer d.Close()
	if got, err := d.ReadStream(t.Context(), "a", 0, 100); err != nil || len(got) != 16 {
		t.Errorf("ReadStream: got %d records, %v, want 16", len(got), err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestCancelledPendingAppendIsWithdrawn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := open(t, path)
	defer d.Close()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	if _, err := tx.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil { // blocks appends
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := d.Append(ctx, "a", events.NoStream, childRecords("a", -1))
		done <- err
	}()
	cancel()
	if err := <-done; !fault.Is(err, fault.Canceled) {
		t.Errorf("Append cancelled while another process locks the log: got error %v, want kind Canceled", err)
	}
	if _, err := tx.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(t.Context(), "b", events.NoStream, childRecords("b", -1)); err != nil {
		t.Errorf("Append after the lock was released: %v", err)
	}
	if got, err := d.ReadStream(t.Context(), "a", 0, 10); err != nil || len(got) != 0 {
		t.Errorf("ReadStream after a cancelled append: got %d records, %v, want none", len(got), err)
	}
}

// If an open log becomes corrupt, the kind of the error is Internal, because the client
// did nothing wrong.
func TestOverwrittenOpenLogIsInternal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := open(t, path)
	defer d.Close()
	if _, err := d.Append(t.Context(), "a", events.NoStream, childRecords("a", events.NoStream)[:1]); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte("x"), int(size)-32), 32)
		}
		if err == nil && name == path {
			_, err = f.WriteAt(bytes.Repeat([]byte("x"), 32), 0)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.ReadAll(t.Context(), 0, 100, nil); !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("ReadAll of an overwritten log: got error %v of kind %v, want kind Internal", err, fault.KindOf(err))
	}
}
