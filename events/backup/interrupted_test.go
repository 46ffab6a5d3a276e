package backup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/backup"
	"annals/events/fault"
	"annals/events/originals"
)

// interrupt starts a backup and cancels it when it has read the last event.
func (v *vault) interrupt() {
	v.Helper()
	head, err := v.log.Head(v.Context())
	if err != nil {
		v.Fatal(err)
	}
	ctx, cancel := context.WithCancel(v.Context())
	defer cancel()
	b := v.backup()
	b.Progress = func(step string, done, _ int64) {
		if step == "events" && done == int64(head) {
			cancel()
		}
	}
	if _, err := b.Run(ctx); !fault.Is(err, fault.Canceled) {
		v.Fatalf("Backup.Run with a cancelled context: got error %v, want kind Canceled", err)
	}
}

func TestInterruptedBackupContinues(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.fillSegment()
		v.file(v.folder, "glass")
		v.interrupt()
		if _, err := restore(t, v.at.location()); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "is incomplete") {
			t.Errorf("Restore.Run of an incomplete backup: got error %v, want kind NotFound", err)
		}
		v.wantBackedUp("lamp")
		b := v.backup()
		first := int64(-1)
		b.Progress = func(step string, done, _ int64) {
			if step == "originals" && first < 0 {
				first = done
			}
		}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatalf("Backup.Run after the interruption: %v", err)
		}
		if first <= 6 || len(r.Manifest.Segments) != 2 || r.Events != 10 || r.Copied.Files != 1 {
			t.Errorf("Backup.Run after the interruption: got first position %d, %+v, want only the second segment and its original", first, r)
		}
		if problems := v.problems(); problems != nil {
			t.Errorf("Verification.Run: got problems %q, want none", problems)
		}
		if got, err := restore(t, v.at.location()); err != nil || !reflect.DeepEqual(got.records, recordsOf(t, v.log)) {
			t.Errorf("Restore.Run: got %d events (%v), want those of the log", len(got.records), err)
		}
	})
}

func TestInterruptedBackupWithoutOriginalsIsRefused(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.fillSegment()
		v.file(v.folder, "glass")
		v.interrupt()
		v.at.remove(v.at.original("lamp"))
		if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is corrupt") {
			t.Errorf("Backup.Run: got error %v, want a conflict", err)
		}
	})
}

// A killed backup may leave an original that it has written but not verified. The next
// backup must read such originals back, and copy a corrupt one again.
func TestUnverifiedOriginalIsReadBack(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "oil")
		v.mustBackUp()
		v.file(v.folder, "lamp")
		v.file(v.folder, "glass")
		v.at.write(v.at.original("lamp"), []byte("lump"))
		v.at.write(v.at.original("glass"), []byte("glass"))
		if r := v.mustBackUp(); r.Copied.Files != 1 || r.Manifest.Originals.Files != 3 {
			t.Errorf("Backup.Run: got %+v, want the corrupt original copied again", r)
		}
		if problems := v.problems(); problems != nil {
			t.Errorf("Verification.Run: got problems %q, want none", problems)
		}
	})
}

func TestRestoreVerifiesExistingOriginals(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		root := t.TempDir()
		store, err := originals.OpenDir(root)
		if err != nil {
			t.Fatal(err)
		}
		existing := path(root, "lamp")
		if err := os.MkdirAll(filepath.Dir(existing), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(existing, []byte("lump"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &backup.Restore{
			Location: v.at.location(), Originals: store, Load: load(t),
			Accounts: filepath.Join(t.TempDir(), "accounts.db"), Progress: func(string, int64, int64) {},
		}
		if _, _, err := r.Run(t.Context()); err != nil {
			t.Fatalf("Restore.Run: %v", err)
		}
		if err := originals.Verify(t.Context(), store, sum("lamp"), 4, true); err != nil {
			t.Errorf("originals.Verify after Restore.Run: %v", err)
		}
	})
}

func TestLostOriginalIsListedOnce(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	stream := v.file(v.folder, "lamp")
	v.append(stream, events.DocumentReread{Version: 1, Content: v.keep("lamp")})
	v.lose("lamp")
	if r := v.mustBackUp(); len(r.Manifest.Lost) != 1 {
		t.Errorf("Backup.Run: got lost originals %+v, want one", r.Manifest.Lost)
	}
}

func TestInterruptedPruneKeepsManifestCorrect(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		var deleted []string
		for n := range 3 {
			deleted = append(deleted, v.file(v.folder, fmt.Sprint("deleted ", n)))
		}
		v.mustBackUp()
		for _, stream := range deleted {
			v.append(stream, events.DocumentDeleted{Version: 2})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := v.backup()
		b.Location = canceling{b.Location, cancel}
		b.Prune = true
		if _, err := b.Run(ctx); !fault.Is(err, fault.Canceled) {
			t.Fatalf("Backup.Run cancelled while it prunes: got error %v, want kind Canceled", err)
		}
		if m, err := backup.LoadManifest(t.Context(), v.at.location()); err != nil || m.Originals != (backup.Count{Files: 1, Bytes: 4}) {
			t.Errorf("LoadManifest: got originals %+v, %v, want one of 4 bytes", m.Originals, err)
		}
		b = v.backup()
		b.Prune = true
		if r, err := b.Run(t.Context()); err != nil || r.Pruned != 2 || r.Manifest.Originals.Files != 1 {
			t.Errorf("Backup.Run with Prune after the interruption: got %+v, %v, want two originals removed", r, err)
		}
		v.wantBackedUp("lamp")
	})
}

// canceling is a location that cancels a backup after it has removed an original.
type canceling struct {
	backup.Location
	cancel func()
}

func (c canceling) Originals(ctx context.Context) (originals.Store, error) {
	store, err := c.Location.Originals(ctx)
	return cancelingStore{store, c.cancel}, err
}

type cancelingStore struct {
	originals.Store
	cancel func()
}

func (c cancelingStore) Delete(ctx context.Context, sha256 string, before time.Time) (bool, error) {
	defer c.cancel()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return c.Store.Delete(ctx, sha256, before)
}
