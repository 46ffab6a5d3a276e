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

// cutOff takes a backup that ends when it has read the last event.
func (v *vault) cutOff() {
	v.Helper()
	head, err := v.log.Head(v.Context())
	if err != nil {
		v.Fatal(err)
	}
	ctx, cut := context.WithCancel(v.Context())
	defer cut()
	b := v.backup()
	b.Progress = func(step string, done, _ int64) {
		if step == "events" && done == int64(head) {
			cut()
		}
	}
	if _, err := b.Run(ctx); !fault.Is(err, fault.Canceled) {
		v.Fatalf("Backup.Run that is cut off = %v", err)
	}
}

func TestInterruptedBackupContinues(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.fillSegment()
		v.file(v.folder, "glass")
		v.cutOff()
		if _, err := restore(t, v.at.place()); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "is incomplete") {
			t.Errorf("Restore.Run of it = %v", err)
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
			t.Fatalf("Backup.Run again: %v", err)
		}
		if first <= 6 || len(r.Manifest.Segments) != 2 || r.Events != 10 || r.Copied.Files != 1 {
			t.Errorf("it goes on at position %d: %+v, want the second segment and its original", first, r)
		}
		if problems := v.problems(); problems != nil {
			t.Errorf("the backup is not sound: %q", problems)
		}
		if got, err := restore(t, v.at.place()); err != nil || !reflect.DeepEqual(got.records, recordsOf(t, v.log)) {
			t.Errorf("%d events are restored (%v)", len(got.records), err)
		}
	})
}

func TestInterruptedBackupWithoutOriginalsIsRefused(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.fillSegment()
		v.file(v.folder, "glass")
		v.cutOff()
		v.at.remove(v.at.original("lamp"))
		if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("Backup.Run = %v, want a conflict", err)
		}
	})
}

// A backup that dies after it placed an original has not read it back; nor does
// one count that came out otherwise when it was.
func TestUnverifiedOriginalIsReadBack(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "oil")
		v.mustBackUp()
		v.file(v.folder, "lamp")
		v.file(v.folder, "glass")
		v.at.write(v.at.original("lamp"), []byte("lump"))
		v.at.write(v.at.original("glass"), []byte("glass"))
		if r := v.mustBackUp(); r.Copied.Files != 1 || r.Manifest.Originals.Files != 3 {
			t.Errorf("Backup.Run = %+v, want the damaged original copied again", r)
		}
		if problems := v.problems(); problems != nil {
			t.Errorf("the backup is not sound: %q", problems)
		}
	})
}

func TestRestoreVerifiesLeftOriginals(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		root := t.TempDir()
		store, err := originals.OpenDir(root)
		if err != nil {
			t.Fatal(err)
		}
		left := path(root, "lamp")
		if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left, []byte("lump"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &backup.Restore{
			Place: v.at.place(), Originals: store, Load: load(t),
			Accounts: filepath.Join(t.TempDir(), "accounts.db"), Progress: func(string, int64, int64) {},
		}
		if _, _, err := r.Run(t.Context()); err != nil {
			t.Fatalf("Restore.Run: %v", err)
		}
		if err := originals.Verify(t.Context(), store, sum("lamp"), 4, true); err != nil {
			t.Errorf("what was restored: %v", err)
		}
	})
}

func TestLostOriginalCountsOnce(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	stream := v.file(v.folder, "lamp")
	v.append(stream, events.DocumentReread{Version: 1, Content: v.keep("lamp")})
	v.lose("lamp")
	if r := v.mustBackUp(); len(r.Manifest.Lost) != 1 {
		t.Errorf("Backup.Run reports the lost originals %+v, want one", r.Manifest.Lost)
	}
}

func TestInterruptedPruneKeepsManifestCorrect(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		var gone []string
		for n := range 3 {
			gone = append(gone, v.file(v.folder, fmt.Sprint("gone ", n)))
		}
		v.mustBackUp()
		for _, stream := range gone {
			v.append(stream, events.DocumentDeleted{Version: 2})
		}
		ctx, cut := context.WithCancel(t.Context())
		defer cut()
		b := v.backup()
		b.Place = cutting{b.Place, cut}
		b.Prune = true
		if _, err := b.Run(ctx); !fault.Is(err, fault.Canceled) {
			t.Fatalf("Backup.Run that is cut off as it prunes = %v", err)
		}
		if m, err := backup.Look(t.Context(), v.at.place()); err != nil || m.Originals != (backup.Count{Files: 1, Bytes: 4}) {
			t.Errorf("Look = %+v, %v; want the original that is needed counted", m.Originals, err)
		}
		b = v.backup()
		b.Prune = true
		if r, err := b.Run(t.Context()); err != nil || r.Pruned != 2 || r.Manifest.Originals.Files != 1 {
			t.Errorf("Backup.Run that prunes again = %+v, %v; want two originals removed", r, err)
		}
		v.wantBackedUp("lamp")
	})
}

// cutting is a place where a backup ends after it removed an original.
type cutting struct {
	backup.Place
	cut func()
}

func (c cutting) Originals(ctx context.Context) (originals.Store, error) {
	store, err := c.Place.Originals(ctx)
	return cuttingStore{store, c.cut}, err
}

type cuttingStore struct {
	originals.Store
	cut func()
}

func (c cuttingStore) Delete(ctx context.Context, sha256 string, before time.Time) (bool, error) {
	defer c.cut()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return c.Store.Delete(ctx, sha256, before)
}
