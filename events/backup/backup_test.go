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
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		twice := v.file(v.folder, "glass")
		v.append(twice, events.DocumentRevised{Version: 2, Content: v.keep("blown glass")})
		v.file(v.folder, "lamp") // same bytes as the original above
		for n := range 1500 {    // more than one page
			v.append(events.TextStream(uuid.New(), 1), events.SectionExtracted{Level: 1, Text: fmt.Sprint("Section ", n)})
		}
		r := v.mustBackUp()
		if want := int64(1505); r.Events != want || r.Manifest.Events != want || r.Copied.Files != 3 || r.Manifest.Originals.Files != 3 {
			t.Errorf("Backup.Run: got %+v with manifest %+v, want %d events and 3 originals", r, r.Manifest, want)
		}
		got, err := restore(t, v.at.location())
		if err != nil {
			t.Fatalf("Restore.Run: %v", err)
		}
		if want := recordsOf(t, v.log); !reflect.DeepEqual(got.records, want) {
			t.Errorf("Restore.Run: got %d events, want %d, with equal positions and bytes", len(got.records), len(want))
		}
		if want := map[string]bool{sum("lamp"): true, sum("glass"): true, sum("blown glass"): true}; !reflect.DeepEqual(got.originals, want) {
			t.Errorf("Restore.Run: got originals %v, want %v", got.originals, want)
		}
		if got.accounts != "ada" {
			t.Errorf("Restore.Run: got accounts %q, want %q", got.accounts, "ada")
		}
		if problems := v.problems(); problems != nil {
			t.Errorf("Verification.Run: got problems %q, want none", problems)
		}
	})
}

func TestBackupOfEmptyLog(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.log = events.NewLog(memory.New())
		v.mustBackUp()
		if got, err := restore(t, v.at.location()); err != nil || len(got.records) != 0 {
			t.Errorf("Restore.Run: got %d events (%v), want none", len(got.records), err)
		}
	})
}

func TestBackupIsIncremental(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		before := v.at.listing()["log/000001.gz"]
		if r := v.mustBackUp(); r.Events != 0 || r.Copied.Files != 0 || len(r.Manifest.Segments) != 1 {
			t.Errorf("Backup.Run without changes: got %+v, want nothing new", r)
		}
		v.file(v.folder, "glass")
		if r := v.mustBackUp(); r.Events != 1 || r.Copied.Files != 1 || len(r.Manifest.Segments) != 2 || r.Manifest.Events != 3 {
			t.Errorf("Backup.Run after one import: got %+v, want one new event", r)
		}
		if after := v.at.listing()["log/000001.gz"]; before == "" || after != before {
			t.Errorf("the first segment changed from %s to %s, want it unchanged", before, after)
		}
		v.wantBackedUp("lamp", "glass")
		if got, err := restore(t, v.at.location()); err != nil || !reflect.DeepEqual(got.records, recordsOf(t, v.log)) {
			t.Errorf("Restore.Run: got %d events (%v), want those of the log", len(got.records), err)
		}
	})
}

func TestBackupContinuesAfterCompaction(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		text := events.TextStream(uuid.New(), 0)
		if _, err := v.log.Append(t.Context(), text, events.NoStream, events.Cause{}, events.New{Data: events.SectionExtracted{Text: "No document names this text."}}); err != nil {
			t.Fatal(err)
		}
		v.mustBackUp() // the last event of the backup is the text
		v.file(v.folder, "glass")
		if err := v.driver.Remove(t.Context(), []string{text}, nil); err != nil {
			t.Fatal(err)
		}
		if r := v.mustBackUp(); r.Events != 1 {
			t.Errorf("Backup.Run after one import: got %+v, want one new event", r)
		}
		v.wantBackedUp("lamp", "glass")
	})
}

func TestBackupOfOtherLogIsRefused(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		for name, log := range map[string]*events.Log{"another log": newVault(t, v.at).log, "an empty log": events.NewLog(memory.New())} {
			b := v.backup()
			b.Log = log
			if _, err := b.Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "the backup of another log") {
				t.Errorf("Backup.Run of %s to the same location: got error %v, want a conflict", name, err)
			}
		}
		v.at = v.at.empty()
		v.at.write("letters/letter.txt", nil)
		if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("Backup.Run to a location with other files: got error %v, want a conflict", err)
		}
	})
}

func TestLockExcludesOtherBackups(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		b := v.backup()
		var second, reading error
		b.Progress = func(string, int64, int64) {
			if second == nil {
				_, second = v.backup().Run(t.Context())
				_, reading = restore(t, v.at.location())
			}
		}
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !fault.Is(second, fault.Conflict) || !fault.Is(reading, fault.Conflict) {
			t.Errorf("during a backup: got %v from another backup, %v from a restore, want conflicts", second, reading)
		}
	})
}

func TestBackupRefusesMissingAccounts(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		v.mustBackUp()
		b := v.backup()
		b.Accounts = nil
		if _, err := b.Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "holds accounts") {
			t.Errorf("Backup.Run without accounts: got error %v, want a conflict", err)
		}
		if got, err := restore(t, v.at.location()); err != nil || got.accounts != "ada" {
			t.Errorf("Restore.Run: got accounts %q (%v), want %q", got.accounts, err, "ada")
		}
	})
}
