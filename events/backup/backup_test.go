package backup_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

func TestRestoreEqualsBackup(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
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
		got, err := restore(t, v.at.place())
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
	})
}

func TestBackupOfEmptyLog(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.log = events.NewLog(memory.New())
		v.mustBackUp()
		if got, err := restore(t, v.at.place()); err != nil || len(got.records) != 0 {
			t.Errorf("Restore.Run gives %d events (%v), want none", len(got.records), err)
		}
	})
}

func TestBackupIsIncremental(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		before := v.at.listing()["log/000001.gz"]
		if r := v.mustBackUp(); r.Events != 0 || r.Copied.Files != 0 || len(r.Manifest.Segments) != 1 {
			t.Errorf("a backup of nothing new = %+v", r)
		}
		v.file(v.folder, "glass")
		if r := v.mustBackUp(); r.Events != 1 || r.Copied.Files != 1 || len(r.Manifest.Segments) != 2 || r.Manifest.Events != 3 {
			t.Errorf("a backup of one document more = %+v", r)
		}
		if after := v.at.listing()["log/000001.gz"]; before == "" || after != before {
			t.Errorf("the first segment was written again: it is %s, and was %s", after, before)
		}
		v.wantBackedUp("lamp", "glass")
		if got, err := restore(t, v.at.place()); err != nil || !reflect.DeepEqual(got.records, recordsOf(t, v.log)) {
			t.Errorf("%d events are restored (%v)", len(got.records), err)
		}
	})
}

func TestBackupContinuesAfterCompaction(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		text := events.TextStream(uuid.New(), 0)
		if _, err := v.log.Append(t.Context(), text, events.NoStream, events.Cause{}, events.New{Data: events.SectionExtracted{Text: "It comes to nothing."}}); err != nil {
			t.Fatal(err)
		}
		v.mustBackUp() // the text is its last event
		v.file(v.folder, "glass")
		if err := v.driver.Remove(t.Context(), []string{text}, nil); err != nil {
			t.Fatal(err)
		}
		if r := v.mustBackUp(); r.Events != 1 {
			t.Errorf("a backup of one document more = %+v", r)
		}
		v.wantBackedUp("lamp", "glass")
	})
}

func TestBackupOfOtherLogIsRefused(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		for name, log := range map[string]*events.Log{"another log": newVault(t, v.at).log, "an empty log": events.NewLog(memory.New())} {
			b := v.backup()
			b.Log = log
			if _, err := b.Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "the backup of another log") {
				t.Errorf("a backup of %s into the same place = %v", name, err)
			}
		}
		v.at = v.at.empty()
		v.at.write("letters/letter.txt", nil)
		if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("a backup into a place with other files = %v", err)
		}
	})
}

func TestHoldExcludesOtherBackups(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		b := v.backup()
		var second, reading error
		b.Progress = func(string, int64, int64) {
			if second == nil {
				_, second = v.backup().Run(t.Context())
				_, reading = restore(t, v.at.place())
			}
		}
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !fault.Is(second, fault.Conflict) || !fault.Is(reading, fault.Conflict) {
			t.Errorf("beside a backup, another = %v, a restore = %v; want conflicts", second, reading)
		}
	})
}

func TestBackupRefusesMissingAccounts(t *testing.T) {
	inEveryPlace(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		b := v.backup()
		b.Accounts = nil
		if _, err := b.Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "holds accounts") {
			t.Errorf("Backup.Run without accounts = %v, want a conflict", err)
		}
		if got, err := restore(t, v.at.place()); err != nil || got.accounts != "ada" {
			t.Errorf("Restore.Run gives back the accounts %q (%v)", got.accounts, err)
		}
	})
}
