package backup_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/backup"
	"annals/events/memory"
	"annals/events/originals"
	"annals/events/sqlite"

	"github.com/google/uuid"
)

// vault is a log and a store of originals to back up. The positions in the log have
// gaps.
type vault struct {
	*testing.T
	log    *events.Log
	driver events.Driver // of log
	store  *originals.Dir
	folder uuid.UUID
	dir    string // of the originals
	at     target // of the backup
}

func newVault(t *testing.T, at target) *vault {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "originals")
	store, err := originals.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	driver := memory.New()
	v := &vault{T: t, log: events.NewLog(driver), driver: driver, store: store, dir: dir, at: at}
	t.Cleanup(func() { _ = v.log.Close() })
	v.folder = v.makeFolder(uuid.Nil)
	return v
}

func (v *vault) append(stream string, data ...events.Data) {
	v.Helper()
	fresh := make([]events.New, len(data))
	for i := range data {
		fresh[i].Data = data[i]
	}
	if _, err := v.log.Append(context.Background(), stream, events.AnyRevision, events.Cause{Actor: "user:ada"}, fresh...); err != nil {
		v.Fatal(err)
	}
}

func (v *vault) makeFolder(parent uuid.UUID) uuid.UUID {
	v.Helper()
	id := uuid.New()
	v.append(events.Folders, events.FolderCreated{Folder: id, Parent: parent, Name: id.String()})
	return id
}

// keep stores text as an original, and returns document content with that original.
func (v *vault) keep(text string) events.Content {
	v.Helper()
	staged, err := v.store.Stage(context.Background(), strings.NewReader(text), int64(len(text)))
	if err == nil {
		err = staged.Commit(context.Background())
	}
	if err != nil {
		v.Fatal(err)
	}
	return events.Content{SHA256: staged.SHA256(), Size: staged.Size(), MediaType: "text/plain", Title: text}
}

// file imports a document whose original is text, and returns the document's stream.
func (v *vault) file(folder uuid.UUID, text string) (stream string) {
	v.Helper()
	stream = events.DocumentStream(uuid.New())
	v.append(stream, events.DocumentImported{Version: 1, Folder: folder, Name: text, Content: v.keep(text)})
	return stream
}

// fillSegment appends events that fill a segment.
func (v *vault) fillSegment() {
	v.Helper()
	long := strings.Repeat("a long text ", 70_000)
	for range 7 {
		v.append(events.TextStream(uuid.New(), 1), events.SectionExtracted{Level: 1, Text: long})
	}
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// path returns the path of the original with that text.
func path(root, text string) string {
	name := sum(text)
	return filepath.Join(root, name[:2], name[2:4], name)
}

// lose deletes an original from the store, as if it had been lost.
func (v *vault) lose(text string) {
	v.Helper()
	if deleted, err := v.store.Delete(context.Background(), sum(text), time.Now().Add(time.Hour)); err != nil || !deleted {
		v.Fatalf("Delete: %t, %v", deleted, err)
	}
}

func (v *vault) backup() *backup.Backup {
	return &backup.Backup{
		Location: v.at.location(), Program: "test", Log: v.log, Originals: v.store, Progress: func(string, int64, int64) {},
		Accounts: func(_ context.Context, path string) error { return os.WriteFile(path, []byte("ada"), 0o600) },
	}
}

// mustBackUp makes a backup, and fails the test on an error.
func (v *vault) mustBackUp() backup.Result {
	v.Helper()
	r, err := v.backup().Run(v.Context())
	if err != nil {
		v.Fatalf("Backup.Run: %v", err)
	}
	return r
}

func load(t *testing.T) backup.Load { return loadInto(filepath.Join(t.TempDir(), "log.db")) }

func loadInto(path string) backup.Load {
	return func(ctx context.Context, batches iter.Seq2[[]events.Record, error]) (*events.Log, error) {
		if err := sqlite.Load(ctx, path, batches); err != nil {
			return nil, err
		}
		d, err := sqlite.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		return events.NewLog(d), nil
	}
}

// restored is the result of a restore.
type restored struct {
	records   []events.Record
	originals map[string]bool
	accounts  string
}

func restore(t *testing.T, from backup.Location) (restored, error) {
	t.Helper()
	root := t.TempDir()
	store, err := originals.OpenDir(filepath.Join(root, "originals"))
	if err != nil {
		t.Fatal(err)
	}
	var got restored
	fill := load(t)
	r := &backup.Restore{
		Location: from, Originals: store, Accounts: filepath.Join(root, "accounts.db"), Progress: func(string, int64, int64) {},
		Load: func(ctx context.Context, batches iter.Seq2[[]events.Record, error]) (*events.Log, error) {
			log, err := fill(ctx, batches)
			if err == nil {
				got.records = recordsOf(t, log)
			}
			return log, err
		},
	}
	m, needed, err := r.Run(t.Context())
	if err != nil {
		return got, err
	}
	accounts, err := os.ReadFile(r.Accounts)
	if err != nil {
		t.Fatal(err)
	}
	got.accounts = string(accounts)
	got.originals = held(t, store)
	if int(m.Events) != len(got.records) || int(needed.Files) != len(got.originals) {
		t.Errorf("Restore.Run: got %d events and %d originals, restored were %d and %d", m.Events, needed.Files, len(got.records), len(got.originals))
	}
	return got, nil
}

func recordsOf(t *testing.T, log *events.Log) (all []events.Record) {
	t.Helper()
	for after := events.Position(0); ; {
		records, through, err := log.Records(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			return all
		}
		all = append(all, records...)
		after = through
	}
}

func held(t *testing.T, store originals.Store) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := store.List(t.Context(), func(name string, _ int64, _ time.Time) error {
		all[name] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wantBackedUp checks that the backup has the originals with these texts, and no others.
func (v *vault) wantBackedUp(texts ...string) {
	v.Helper()
	want := map[string]bool{}
	for _, text := range texts {
		want[sum(text)] = true
	}
	if got := held(v.T, v.at.location().View()); !reflect.DeepEqual(got, want) {
		v.Errorf("the backup has %d originals, want those of %q", len(got), texts)
	}
}

// problems verifies the backup and returns its problems.
func (v *vault) problems() (all []string) {
	v.Helper()
	verification := &backup.Verification{
		Location: v.at.location(), Load: load(v.T), Progress: func(string, int64, int64) {},
		Report: func(problem string) { all = append(all, problem) },
	}
	_, n, err := verification.Run(v.Context())
	if err != nil {
		v.Fatalf("Verification.Run: %v", err)
	}
	if (n > 0) != (len(all) > 0) {
		v.Errorf("Verification.Run: got %d problems, reported were %q", n, all)
	}
	return all
}
