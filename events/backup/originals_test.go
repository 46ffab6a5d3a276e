package backup_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

// A backup needs the originals of all versions of the documents that the vault shows, and
// the files of unfinished jobs.
func TestBackupSkipsUnneededOriginals(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		revised := v.file(v.folder, "first version")
		v.append(revised, events.DocumentRevised{Version: 2, Content: v.keep("second version")})

		deleted := v.file(v.folder, "deleted")
		v.append(deleted, events.DocumentDeleted{Version: 2})

		above := v.makeFolder(uuid.Nil)
		below := v.makeFolder(above)
		v.file(below, "deleted with a folder above it")
		moved := v.file(below, "moved before the deletion")
		v.append(moved, events.DocumentMoved{Version: 2, Folder: v.folder})
		late := v.file(below, "moved after the deletion")
		v.append(events.Folders, events.FolderDeleted{Folder: above})
		v.append(late, events.DocumentMoved{Version: 2, Folder: v.folder})
		v.file(below, "imported after the deletion")

		v.job("of a running job", events.ImportRequested{Files: 1})
		v.job("of a finished job", events.ImportRequested{Files: 1}, events.FileFailed{Error: "no"}, events.JobFinished{Failed: 1})
		v.job("of an incomplete job")
		v.keep("not named by an event")

		v.mustBackUp()
		v.wantBackedUp("lamp", "first version", "second version", "moved before the deletion", "of a running job")
		if _, err := restore(t, v.at.location()); err != nil {
			t.Errorf("Restore.Run: %v", err)
		}
	})
}

// job appends FileAccepted with an original, and then data, to a new job.
func (v *vault) job(text string, data ...events.Data) (stream string) {
	v.Helper()
	stream = events.JobStream(uuid.New())
	content := v.keep(text)
	v.append(stream, append([]events.Data{events.FileAccepted{Name: text, SHA256: content.SHA256, Size: content.Size}}, data...)...)
	return stream
}

func TestBackupIncludesFilesOfLaterRequest(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		stream := v.job("accepted")
		v.mustBackUp()
		v.append(stream, events.ImportRequested{Files: 1})
		v.mustBackUp()
		v.wantBackedUp("accepted")
	})
}

func TestPruneRemovesUnneededOriginals(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		shared := v.file(v.folder, "of two documents")
		v.file(v.folder, "of two documents")
		gone := v.file(v.folder, "glass")
		v.mustBackUp()
		v.append(gone, events.DocumentDeleted{Version: 2})
		v.append(shared, events.DocumentDeleted{Version: 2})
		v.mustBackUp()
		v.wantBackedUp("lamp", "of two documents", "glass")
		b := v.backup()
		b.Prune = true
		r, err := b.Run(t.Context())
		if err != nil || r.Pruned != 1 || r.Manifest.Originals.Files != 2 {
			t.Errorf("Backup.Run with Prune: got %+v, %v, want one original removed and two left", r, err)
		}
		v.wantBackedUp("lamp", "of two documents")
		if problems := v.problems(); problems != nil {
			t.Errorf("Verification.Run: got problems %q, want none", problems)
		}
	})
}

func TestPruneHandlesManyNames(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		var kept, streams []string
		for n := range 12 {
			kept = append(kept, fmt.Sprint("kept ", n))
			v.file(v.folder, kept[n])
			streams = append(streams, v.file(v.folder, fmt.Sprint("gone ", n)))
		}
		v.mustBackUp()
		for _, stream := range streams {
			v.append(stream, events.DocumentDeleted{Version: 2})
		}
		b := v.backup()
		b.Prune = true
		if r, err := b.Run(t.Context()); err != nil || r.Pruned != len(streams) || r.Manifest.Originals.Files != int64(len(kept)) {
			t.Errorf("Backup.Run with Prune: got %+v, %v, want %d originals removed", r, err, len(streams))
		}
		v.wantBackedUp(kept...)
	})
}

// A log of a newer program version may have event types that this version does not know.
// They may name originals, so a backup must not prune any.
func TestPruneKeepsAllOnUnknownEvent(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		driver := memory.New()
		v.log = events.NewLog(driver)
		v.folder = v.makeFolder(uuid.Nil)
		gone := v.file(v.folder, "lamp")
		v.mustBackUp()
		v.append(gone, events.DocumentDeleted{Version: 2})
		unknown := events.Record{ID: uuid.New(), Stream: events.DocumentStream(uuid.New()), Type: "DocumentAttached",
			Data: []byte(`{"sha256":"` + sum("lamp") + `"}`), Metadata: []byte(`{"schema":1}`)}
		if _, err := driver.Append(t.Context(), unknown.Stream, events.AnyRevision, []events.Record{unknown}); err != nil {
			t.Fatal(err)
		}
		b := v.backup()
		b.Prune = true
		if r, err := b.Run(t.Context()); !fault.Is(err, fault.Internal) || r.Pruned != 0 || r.Unread != 1 {
			t.Errorf("Backup.Run with Prune: got %+v, %v, want one event that cannot be read", r, err)
		}
		v.wantBackedUp("lamp")
	})
}

// A document is deleted and its original removed after the backup has copied the events
// and before it copies the original. The original must not count as lost.
func TestOriginalDeletedDuringBackup(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		gone := v.file(v.folder, "glass")
		b := v.backup()
		b.Progress = func(step string, _, _ int64) {
			if step == "events" && gone != "" {
				v.append(gone, events.DocumentDeleted{Version: 2})
				v.lose("glass")
				gone = ""
			}
		}
		r, err := b.Run(t.Context())
		if err != nil || len(r.Manifest.Lost) > 0 {
			t.Fatalf("Backup.Run: got %+v, %v, want no lost originals", r, err)
		}
		if r.Events != 4 {
			t.Errorf("Backup.Run: got %d events, want 4, including the deletion", r.Events)
		}
		if problems := v.problems(); problems != nil {
			t.Errorf("Verification.Run: got problems %q, want none", problems)
		}
	})
}

func TestLostOriginalIsCopiedLater(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.file(v.folder, "glass")
		v.file(v.folder, "oil")
		v.lose("glass")
		flip(&folder{t, filepath.Dir(v.dir)}, (&folder{}).original("oil"), 0)
		r := v.mustBackUp()
		if lost := r.Manifest.Lost; len(lost) != 2 || lost[0].SHA256 != sum("glass") || lost[1].SHA256 != sum("oil") || r.Copied.Files != 1 {
			t.Errorf("Backup.Run: got %+v, want glass and oil lost", r)
		}
		if got, err := restore(t, v.at.location()); err != nil || len(got.originals) != 1 {
			t.Errorf("Restore.Run: got %d originals (%v), want 1", len(got.originals), err)
		}
		v.keep("glass")
		if r := v.mustBackUp(); len(r.Manifest.Lost) != 1 || r.Copied.Files != 1 || r.Events != 0 {
			t.Errorf("Backup.Run: got %+v, want glass copied", r)
		}
		v.wantBackedUp("lamp", "glass")
	})
}

func TestUnreadableEventKeepsAllOriginals(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		driver := memory.New()
		v.log = events.NewLog(driver)
		v.file(v.folder, "lamp")
		gone := v.file(v.folder, "glass")
		v.append(gone, events.DocumentDeleted{Version: 2})
		foreign := events.Record{ID: uuid.New(), Type: "DocumentImported", Data: []byte("{"), Metadata: []byte(`{"schema":99}`)}
		if _, err := driver.Append(t.Context(), events.DocumentStream(uuid.New()), events.NoStream, []events.Record{foreign}); err != nil {
			t.Fatal(err)
		}
		if r := v.mustBackUp(); r.Unread != 1 || r.Events != 4 {
			t.Errorf("Backup.Run: got %+v, want one event that cannot be read", r)
		}
		b := v.backup()
		b.Prune = true
		if _, err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("Backup.Run with Prune: got error %v, want that an event cannot be read", err)
		}
		v.wantBackedUp("lamp")
	})
}

func TestBackupRefusesStoreOfOtherLog(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	for n := range 1001 {
		text := fmt.Sprint("missing ", n)
		content := events.Content{SHA256: sum(text), Size: int64(len(text))}
		v.append(events.DocumentStream(uuid.New()), events.DocumentImported{Version: 1, Folder: v.folder, Name: text, Content: content})
	}
	if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "check that this store belongs to the log") {
		t.Errorf("Backup.Run with 1001 missing originals: got error %v, want kind Invalid", err)
	}
}

func TestLostOriginalUploadedAgainIsRestored(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.lose("lamp")
		v.fillSegment()
		v.file(v.folder, "oil")
		v.append(events.DocumentStream(uuid.New()), events.DocumentImported{
			Version: 1, Folder: v.folder, Name: "lamp", Content: events.Content{SHA256: sum("lamp"), Size: int64(len("lamp")), MediaType: "text/plain"}})
		b, segments := v.backup(), 0
		b.Progress = func(step string, done, total int64) {
			if step != "events" || done != total {
				return
			}
			if segments++; segments == 1 { // the originals of the first segment were copied
				v.keep("lamp")
			}
		}
		r, err := b.Run(t.Context())
		if err != nil || len(r.Manifest.Segments) != 2 || len(r.Manifest.Lost) > 0 {
			t.Fatalf("Backup.Run: got %+v, %v, want two segments and no lost originals", r.Manifest, err)
		}
		if got, err := restore(t, v.at.location()); err != nil || !got.originals[sum("lamp")] {
			t.Errorf("Restore.Run: got originals %v (%v), want the one that was uploaded again", got.originals, err)
		}
	})
}

// counting is a driver that counts the reads of each stream.
type counting struct {
	events.Driver
	reads map[string]int
}

func (c counting) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	c.reads[stream]++
	return c.Driver.ReadStream(ctx, stream, from, limit)
}

// A backup reads the stream of a document one time and not for each version. Otherwise
// its time would be quadratic in the number of versions.
func TestNeedsCachesDocuments(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	driver := counting{memory.New(), make(map[string]int)}
	v.log = events.NewLog(driver)
	v.folder = v.makeFolder(uuid.Nil)
	stream, oil := v.file(v.folder, "lamp"), v.keep("oil")
	for n := range 100 {
		v.append(stream, events.DocumentRevised{Version: n + 2, Content: oil})
	}
	v.mustBackUp()
	if n := driver.reads[stream]; n == 0 || n > 10 {
		t.Errorf("a document with 101 versions was read %d times, want 1 to 10", n)
	}
	v.wantBackedUp("lamp", "oil")
}

// For a lost original, the backup looks up whether a later part of the log still needs
// it. Even then, a document's stream must not be read again for each version.
func TestNeedsCachesDocumentsWithLostOriginals(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	driver := counting{memory.New(), make(map[string]int)}
	v.log = events.NewLog(driver)
	v.folder = v.makeFolder(uuid.Nil)
	stream, oil := v.file(v.folder, "lamp"), v.keep("oil")
	for n := range 50 {
		v.append(stream, events.DocumentRevised{Version: n + 2, Content: oil})
		text := fmt.Sprint("missing ", n)
		content := events.Content{SHA256: sum(text), Size: int64(len(text))}
		v.append(events.DocumentStream(uuid.New()), events.DocumentImported{Version: 1, Folder: v.folder, Name: text, Content: content})
	}
	b := v.backup()
	b.Progress = func(step string, _, _ int64) {
		if step == "originals" {
			v.makeFolder(uuid.Nil)
		}
	}
	if r, err := b.Run(t.Context()); err != nil || len(r.Manifest.Lost) != 50 {
		t.Fatalf("Backup.Run: got %+v, %v, want 50 lost originals", r.Manifest, err)
	}
	if n := driver.reads[stream]; n == 0 || n > 10 {
		t.Errorf("a document with 51 versions was read %d times, want 1 to 10", n)
	}
}

// failing is a driver whose ReadStream fails.
type failing struct{ events.Driver }

func (failing) ReadStream(context.Context, string, int64, int) ([]events.Record, error) {
	return nil, fault.Errorf(fault.Internal, "the file is corrupt")
}

func TestReadStreamDistinguishesLogErrors(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	driver := memory.New()
	v.log = events.NewLog(driver)
	v.file(v.folder, "lamp")
	v.log = events.NewLog(failing{driver})
	if r, err := v.backup().Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the file is corrupt") {
		t.Errorf("Backup.Run: got %+v, %v, want the error of the driver", r, err)
	}
}
