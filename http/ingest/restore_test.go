package ingest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/commands"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
	"annals/events/s3/s3test"

	"github.com/google/uuid"
)

// restorer has a single deleted document, and fails to start the job that restores it.
type restorer struct {
	Importer
	deleted commands.Deleted
}

var errNoJob = errors.New("no job")

func (r restorer) FindDeleted(context.Context, events.User, uuid.UUID) (commands.Deleted, error) {
	return r.deleted, nil
}

func (r restorer) HoldImport(context.Context, events.User) (*quota.Hold, error) {
	return nil, nil
}

func (r restorer) AdmitImport(context.Context, events.User, *quota.Hold, []commands.Upload) error {
	return nil
}

func (r restorer) StartRestore(context.Context, events.User, string, uuid.UUID) (commands.Started, error) {
	return commands.Started{}, errNoJob
}

// keep stores an original.
func keep(t *testing.T, store originals.Store) (sha256 string) {
	t.Helper()
	staged, err := store.Stage(t.Context(), strings.NewReader("terms"), 100)
	if err == nil {
		err = staged.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return staged.SHA256()
}

func deletedWith(sha256 string) restorer {
	return restorer{deleted: commands.Deleted{ID: uuid.New(), File: commands.Upload{SHA256: sha256, Size: 5}}}
}

// The file of a document that is being restored is not swept before the job refers to it, even
// if the sweep has begun.
func TestRestoreKeepsOriginalFromSweep(t *testing.T) {
	store, err := originals.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	to := deletedWith(keep(t, store))
	n, err := originals.Sweep(t.Context(), store, nil, time.Now(), func(ctx context.Context, _ string) (bool, error) {
		if _, err := Restore(ctx, to, store, events.User{}, "", to.deleted.ID); !errors.Is(err, errNoJob) {
			t.Errorf("Restore: %v, want %v", err, errNoJob)
		}
		return false, nil
	})
	if n != 0 || err != nil {
		t.Errorf("Sweep: got %d deleted, %v, want 0", n, err)
	}
}

func TestRestoreFromBucket(t *testing.T) {
	server := s3test.New(t)
	store, err := originals.OpenS3(t.Context(), s3test.Open(t, server.URL), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	to := deletedWith(keep(t, store))
	if _, err := Restore(t.Context(), to, store, events.User{}, "", to.deleted.ID); !errors.Is(err, errNoJob) {
		t.Errorf("Restore: %v, want %v", err, errNoJob)
	}
	if _, err := Restorable(t.Context(), to, store, events.User{}, to.deleted.ID); err != nil {
		t.Errorf("Restorable: %v", err)
	}
	server.Intercept(func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) })
	if _, err := Restore(t.Context(), to, store, events.User{}, "", to.deleted.ID); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Restore during an outage: %v, want fault.Unavailable", err)
	}
	server.Intercept(nil)
	to = deletedWith(strings.Repeat("0a", 32))
	for what, try := range map[string]func() error{
		"Restore":    func() error { _, err := Restore(t.Context(), to, store, events.User{}, "", to.deleted.ID); return err },
		"Restorable": func() error { _, err := Restorable(t.Context(), to, store, events.User{}, to.deleted.ID); return err },
	} {
		if err := try(); !errors.Is(err, errSwept) {
			t.Errorf("%s of a file that is gone: %v, want %v", what, err, errSwept)
		}
	}
}
