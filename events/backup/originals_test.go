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

// The rules are those of the vault: what it shows, in all its versions, and
// what jobs have yet to read.
func TestBackupSkipsUnneededOriginals(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		revised := v.file(v.folder, "first version")
		v.append(revised, events.DocumentRevised{Version: 2, Content: v.keep("second version")})

		deleted := v.file(v.folder, "deleted")
		v.append(deleted, events.DocumentDeleted{Version: 2})

		above := v.makeFolder(uuid.Nil)
		below := v.makeFolder(above)
		v.file(below, "deleted with a folder above it")
		left := v.file(below, "left the folder in time")
		v.append(left, events.DocumentMoved{Version: 2, Folder: v.folder})
		late := v.file(below, "left the folder too late")
		v.append(events.Folders, events.FolderDeleted{Folder: above})
		v.append(late, events.DocumentMoved{Version: 2, Folder: v.folder})
		v.file(below, "arrived too late")

		v.job("waits in a job", events.ImportRequested{Files: 1})
		v.job("of a job that ended", events.ImportRequested{Files: 1}, events.FileFailed{Error: "no"}, events.JobFinished{Failed: 1})
		v.job("of a job that was never requested")
		v.keep("named by nobody")

		v.mustBackUp()
		v.wantBackedUp("lamp", "first version", "second version", "left the folder in time", "waits in a job")
		if _, err := restore(t, v.at.place()); err != nil {
			t.Errorf("Restore.Run: %v", err)
		}
	})
}

// job accepts a file, and then appends data.
func (v *vault) job(text string, data ...events.Data) (stream string) {
	v.Helper()
	stream = events.JobStream(uuid.New())
	content := v.keep(text)
	v.append(stream, append([]events.Data{events.FileAccepted{Name: text, SHA256: content.SHA256, Size: content.Size}}, data...)...)
	return stream
}

func TestBackupIncludesFilesOfLaterRequest(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		stream := v.job("accepted")
		v.mustBackUp()
		v.append(stream, events.ImportRequested{Files: 1})
		v.mustBackUp()
		v.wantBackedUp("accepted")
	})
}

func TestPruneRemovesUnneededOriginals(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
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
			t.Errorf("Backup.Run that prunes = %+v, %v; want one original removed and two left", r, err)
		}
		v.wantBackedUp("lamp", "of two documents")
		if problems := v.problems(); problems != nil {
			t.Errorf("the backup is not sound: %q", problems)
		}
	})
}

func TestPruneHandlesManyNames(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
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
			t.Errorf("Backup.Run that prunes = %+v, %v; want %d originals removed", r, err, len(streams))
		}
		v.wantBackedUp(kept...)
	})
}

// A later version of the program may name originals by events that this one does
// not know.
func TestPruneKeepsAllOnUnknownEvent(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
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
			t.Errorf("Backup.Run that prunes = %+v, %v; want that one event cannot be read", r, err)
		}
		v.wantBackedUp("lamp")
	})
}

// Its document is deleted and the original swept after the log was copied and
// before its turn comes.
func TestOriginalDeletedDuringBackup(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
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
			t.Fatalf("Backup.Run = %+v, %v", r, err)
		}
		if r.Events != 4 {
			t.Errorf("the backup holds %d events, want 4 with the deletion", r.Events)
		}
		if problems := v.problems(); problems != nil {
			t.Errorf("the backup is not sound: %q", problems)
		}
	})
}

func TestLostOriginalIsCopiedLater(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.file(v.folder, "glass")
		v.file(v.folder, "oil")
		v.lose("glass")
		flip(&folder{t, filepath.Dir(v.dir)}, (&folder{}).original("oil"), 0)
		r := v.mustBackUp()
		if lost := r.Manifest.Lost; len(lost) != 2 || lost[0].SHA256 != sum("glass") || lost[1].SHA256 != sum("oil") || r.Copied.Files != 1 {
			t.Errorf("Backup.Run = %+v, want glass and oil lost", r)
		}
		if got, err := restore(t, v.at.place()); err != nil || len(got.originals) != 1 {
			t.Errorf("Restore.Run gives back %d originals (%v), want the one that there is", len(got.originals), err)
		}
		v.keep("glass")
		if r := v.mustBackUp(); len(r.Manifest.Lost) != 1 || r.Copied.Files != 1 || r.Events != 0 {
			t.Errorf("Backup.Run = %+v, want the glass copied", r)
		}
		v.wantBackedUp("lamp", "glass")
	})
}

func TestUnreadableEventKeepsAllOriginals(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
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
			t.Errorf("Backup.Run = %+v, want one event that cannot be read", r)
		}
		b := v.backup()
		b.Prune = true
		if _, err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("Backup.Run that prunes = %v, want an error", err)
		}
		v.wantBackedUp("lamp")
	})
}

func TestBackupRefusesStoreOfOtherLog(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	for n := range 1001 {
		text := fmt.Sprint("never kept ", n)
		content := events.Content{SHA256: sum(text), Size: int64(len(text))}
		v.append(events.DocumentStream(uuid.New()), events.DocumentImported{Version: 1, Folder: v.folder, Name: text, Content: content})
	}
	if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "is this the store that belongs to the log?") {
		t.Errorf("Backup.Run with 1001 originals missing = %v", err)
	}
}

func TestLostOriginalUploadedAgainIsRestored(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
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
			if segments++; segments == 1 { // the first segment was looked through
				v.keep("lamp")
			}
		}
		r, err := b.Run(t.Context())
		if err != nil || len(r.Manifest.Segments) != 2 || len(r.Manifest.Lost) > 0 {
			t.Fatalf("Backup.Run = %+v, %v; want two segments and nothing lost", r.Manifest, err)
		}
		if got, err := restore(t, v.at.place()); err != nil || !got.originals[sum("lamp")] {
			t.Errorf("Restore.Run gives back %v (%v), want the original that came in again too", got.originals, err)
		}
	})
}

// counting counts how often streams are read.
type counting struct {
	events.Driver
	reads map[string]int
}

func (c counting) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	c.reads[stream]++
	return c.Driver.ReadStream(ctx, stream, from, limit)
}

// Otherwise a backup takes longer by the square of them.
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
		t.Errorf("a document of 101 versions was read %d times, want a few", n)
	}
	v.wantBackedUp("lamp", "oil")
}

// The log goes on meanwhile, so that what is lost is judged by a later position
// than what is there.
func TestNeedsCachesDocumentsWithLostOriginals(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	driver := counting{memory.New(), make(map[string]int)}
	v.log = events.NewLog(driver)
	v.folder = v.makeFolder(uuid.Nil)
	stream, oil := v.file(v.folder, "lamp"), v.keep("oil")
	for n := range 50 {
		v.append(stream, events.DocumentRevised{Version: n + 2, Content: oil})
		text := fmt.Sprint("never kept ", n)
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
		t.Fatalf("Backup.Run = %+v, %v; want 50 originals lost", r.Manifest, err)
	}
	if n := driver.reads[stream]; n == 0 || n > 10 {
		t.Errorf("a document of 51 versions was read %d times, want a few", n)
	}
}

// failing is a log whose streams cannot be read.
type failing struct{ events.Driver }

func (failing) ReadStream(context.Context, string, int64, int) ([]events.Record, error) {
	return nil, fault.Errorf(fault.Internal, "the file is damaged")
}

func TestReadStreamDistinguishesLogErrors(t *testing.T) {
	t.Parallel()
	v := newVault(t, newFolder(t))
	driver := memory.New()
	v.log = events.NewLog(driver)
	v.file(v.folder, "lamp")
	v.log = events.NewLog(failing{driver})
	if r, err := v.backup().Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the file is damaged") {
		t.Errorf("Backup.Run = %+v, %v; want the error of the log", r, err)
	}
}
