package backup_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"annals/events"
	"annals/events/backup"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/originals"
	"annals/events/sqlite"
)

// vault is what is backed up: a log whose positions have gaps, and originals.
type vault struct {
	*testing.T
	log     *events.Log
	store   *originals.Dir
	folder  uuid.UUID
	dir     string // of the originals
	backups string // folder of the backup
}

func newVault(t *testing.T) *vault {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "originals")
	store, err := originals.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{T: t, log: events.NewLog(memory.New()), store: store, dir: dir, backups: filepath.Join(t.TempDir(), "backup")}
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

// keep makes text an original and returns it as the content of a document.
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

// file files a document with that text.
func (v *vault) file(folder uuid.UUID, text string) (stream string) {
	v.Helper()
	stream = events.DocumentStream(uuid.New())
	v.append(stream, events.DocumentImported{Version: 1, Folder: folder, Name: text, Content: v.keep(text)})
	return stream
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// path is where a text is kept in a store.
func path(root, text string) string {
	name := sum(text)
	return filepath.Join(root, name[:2], name[2:4], name)
}

// lose removes an original from the vault.
func (v *vault) lose(text string) {
	v.Helper()
	if deleted, err := v.store.Delete(context.Background(), sum(text), time.Now().Add(time.Hour)); err != nil || !deleted {
		v.Fatalf("Delete: %t, %v", deleted, err)
	}
}

func (v *vault) backup() *backup.Backup {
	return &backup.Backup{
		Dir: v.backups, Program: "test", Log: v.log, Originals: v.store, Progress: func(string, int64, int64) {},
		Accounts: func(_ context.Context, path string) error { return os.WriteFile(path, []byte("ada"), 0o600) },
	}
}

// mustBackUp takes a backup and wants no error of it.
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

// restored is what a restore gave back.
type restored struct {
	records   []events.Record
	originals map[string]bool
	accounts  string
}

func restore(t *testing.T, dir string) (restored, error) {
	t.Helper()
	root := t.TempDir()
	store, err := originals.OpenDir(filepath.Join(root, "originals"))
	if err != nil {
		t.Fatal(err)
	}
	var got restored
	fill := load(t)
	r := &backup.Restore{
		Dir: dir, Originals: store, Accounts: filepath.Join(root, "accounts.db"), Progress: func(string, int64, int64) {},
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
		t.Errorf("Restore.Run tells of %d events and %d originals, restored are %d and %d", m.Events, needed.Files, len(got.records), len(got.originals))
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

// wantBackedUp checks which texts are originals of the backup.
func (v *vault) wantBackedUp(texts ...string) {
	v.Helper()
	want := map[string]bool{}
	for _, text := range texts {
		want[sum(text)] = true
	}
	if got := held(v.T, originals.ViewDir(filepath.Join(v.backups, "originals"))); !reflect.DeepEqual(got, want) {
		v.Errorf("the backup holds %d originals, want those of %q", len(got), texts)
	}
}

// problems returns what is wrong with the backup.
func (v *vault) problems() (all []string) {
	v.Helper()
	verification := &backup.Verification{
		Dir: v.backups, Load: load(v.T), Progress: func(string, int64, int64) {},
		Tell: func(problem string) { all = append(all, problem) },
	}
	_, n, err := verification.Run(v.Context())
	if err != nil {
		v.Fatalf("Verification.Run: %v", err)
	}
	if (n > 0) != (len(all) > 0) {
		v.Errorf("Verification.Run counts %d problems and tells %q", n, all)
	}
	return all
}

func TestWhatIsRestoredIsWhatWasBackedUp(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(v.folder, "lamp")
	twice := v.file(v.folder, "glass")
	v.append(twice, events.DocumentRevised{Version: 2, Content: v.keep("blown glass")})
	v.file(v.folder, "lamp") // the same bytes
	for n := range 1500 {    // more than are read at once
		v.append(events.TextStream(uuid.New(), 1), events.SectionExtracted{Level: 1, Text: fmt.Sprint("Section ", n)})
	}
	r := v.mustBackUp()
	if want := int64(1505); r.Events != want || r.Manifest.Events != want || r.Copied.Files != 3 || r.Manifest.Originals.Files != 3 {
		t.Errorf("Backup.Run = %+v of %+v, want %d events and 3 originals", r, r.Manifest, want)
	}
	got, err := restore(t, v.backups)
	if err != nil {
		t.Fatalf("Restore.Run: %v", err)
	}
	if want := recordsOf(t, v.log); !reflect.DeepEqual(got.records, want) {
		t.Errorf("%d events are restored, not the %d that were backed up, with their positions and bytes", len(got.records), len(want))
	}
	if want := map[string]bool{sum("lamp"): true, sum("glass"): true, sum("blown glass"): true}; !reflect.DeepEqual(got.originals, want) {
		t.Errorf("the originals %v are restored, want %v", got.originals, want)
	}
	if got.accounts != "ada" {
		t.Errorf("the accounts %q are restored", got.accounts)
	}
	if problems := v.problems(); problems != nil {
		t.Errorf("the backup is not sound: %q", problems)
	}
}

func TestALogWithoutEventsIsBackedUp(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.log = events.NewLog(memory.New())
	v.mustBackUp()
	if got, err := restore(t, v.backups); err != nil || len(got.records) != 0 {
		t.Errorf("Restore.Run gives %d events (%v), want none", len(got.records), err)
	}
}

func TestABackupAddsWhatIsNewAndKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(v.folder, "lamp")
	v.mustBackUp()
	first := filepath.Join(v.backups, "log", "000001.gz")
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	if r := v.mustBackUp(); r.Events != 0 || r.Copied.Files != 0 || len(r.Manifest.Segments) != 1 {
		t.Errorf("a backup of nothing new = %+v", r)
	}
	v.file(v.folder, "glass")
	if r := v.mustBackUp(); r.Events != 1 || r.Copied.Files != 1 || len(r.Manifest.Segments) != 2 || r.Manifest.Events != 3 {
		t.Errorf("a backup of one document more = %+v", r)
	}
	if after, err := os.Stat(first); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the first segment was written again (%v)", err)
	}
	v.wantBackedUp("lamp", "glass")
	if got, err := restore(t, v.backups); err != nil || !reflect.DeepEqual(got.records, recordsOf(t, v.log)) {
		t.Errorf("%d events are restored (%v)", len(got.records), err)
	}
}

func TestACutOffBackupGoesOn(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(v.folder, "lamp")
	long := strings.Repeat("a long text ", 70_000)
	for range 50 { // 40 MB, more than a segment holds
		v.append(events.TextStream(uuid.New(), 1), events.SectionExtracted{Level: 1, Text: long})
	}
	v.file(v.folder, "glass")
	head, err := v.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	b := v.backup()
	b.Progress = func(step string, done, _ int64) {
		if step == "events" && done == int64(head) {
			cut()
		}
	}
	if _, err := b.Run(ctx); !fault.Is(err, fault.Canceled) {
		t.Fatalf("Backup.Run that is cut off = %v", err)
	}
	if _, err := restore(t, v.backups); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "never came to its end") {
		t.Errorf("Restore.Run of it = %v", err)
	}
	v.wantBackedUp("lamp")
	b = v.backup()
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
	if first <= 6 || len(r.Manifest.Segments) != 2 || r.Events != 53 || r.Copied.Files != 1 {
		t.Errorf("it goes on at position %d: %+v, want the second segment and its original", first, r)
	}
	if problems := v.problems(); problems != nil {
		t.Errorf("the backup is not sound: %q", problems)
	}
	if got, err := restore(t, v.backups); err != nil || !reflect.DeepEqual(got.records, recordsOf(t, v.log)) {
		t.Errorf("%d events are restored (%v)", len(got.records), err)
	}
}

func TestTheBackupOfAnotherLogIsRefused(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(v.folder, "lamp")
	v.mustBackUp()
	for name, log := range map[string]*events.Log{"another log": newVault(t).log, "an empty log": events.NewLog(memory.New())} {
		b := v.backup()
		b.Log = log
		if _, err := b.Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "the backup of another log") {
			t.Errorf("a backup of %s into the same folder = %v", name, err)
		}
	}
	v.backups = t.TempDir()
	if err := os.WriteFile(filepath.Join(v.backups, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a backup into a folder with other files = %v", err)
	}
}

func TestOneBackupAtATimeWorksInAFolder(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(v.folder, "lamp")
	b := v.backup()
	var second, reading error
	b.Progress = func(string, int64, int64) {
		if second == nil {
			_, second = v.backup().Run(t.Context())
			_, reading = restore(t, v.backups)
		}
	}
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !fault.Is(second, fault.Conflict) || !fault.Is(reading, fault.Conflict) {
		t.Errorf("beside a backup, another = %v, a restore = %v; want conflicts", second, reading)
	}
}

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
