package disk

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// sqliteFull returns the error of SQLite for a full disk.
func sqliteFull(t *testing.T) error {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db")+"?_pragma=max_page_count(2)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE a (x); INSERT INTO a VALUES (zeroblob(100000))`)
	return err
}

func TestIsFull(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{sqliteFull(t), true},
		{&pgconn.PgError{Code: "53100"}, true},
		{fmt.Errorf("write: %w", full[0]), true},
		{Restore(fmt.Errorf("a library that does not wrap: %v", full[0])), true},
		{Restore(fmt.Errorf("%v is the name of a file", full[0])), false},
		{fmt.Errorf("the file %q is corrupt", full[0].Error()), false},
		{Restore(io.ErrUnexpectedEOF), false},
		{&pgconn.PgError{Code: "53200"}, false},
		{io.ErrUnexpectedEOF, false},
		{nil, false},
	} {
		if got := IsFull(c.err); got != c.want {
			t.Errorf("IsFull(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}

func TestSpace(t *testing.T) {
	existing := Folder{"data", t.TempDir()}
	got := Folders{existing, {"missing", filepath.Join(existing.Path, "missing")}}.Space()
	if len(got) != 1 || got[0].Folder != "data" || got[0].Free <= 0 {
		t.Errorf("Space: got %+v, want only the folder data", got)
	}
}

func TestQuietLimitsFullDiskRecords(t *testing.T) {
	var out bytes.Buffer
	handler := Quiet(slog.NewTextHandler(&out, nil)).(*quiet)
	now := time.Now()
	handler.last.now = func() time.Time { return now }
	one, other := slog.New(handler).With("projection", "one"), slog.New(handler).With("projection", "other")
	for range 10 {
		one.Error("stopped", "error", full[0])
		other.Error("stopped", "error", fmt.Errorf("write: %w", full[0]))
		other.Error("stopped", "error", errors.New("another fault"))
	}
	now = now.Add(logEvery)
	other.Error("stopped", "error", full[0])
	text := out.String()
	if n := strings.Count(text, "another fault"); n != 10 {
		t.Errorf("got %d records of other errors, want 10: %s", n, text)
	}
	if n := strings.Count(text, full[0].Error()); n != 2 || !strings.Contains(text, "projection=other") || !strings.Contains(text, "not_logged=19") {
		t.Errorf("got %d records of the full disk, want one a minute, the second with not_logged=19: %s", n, text)
	}
}
