package main

import (
	"os"
	"strings"
	"testing"

	"annals/events/s3/s3test"
)

// TestBackupBetweenBuckets checks a server whose originals are in an S3 bucket: annals
// backup finds them and copies them to another bucket while the server runs, and annals
// restore restores them from there.
func TestBackupBetweenBuckets(t *testing.T) {
	uploads, kept := s3test.URL(t), s3test.URL(t)
	t.Setenv("ANNALS_ORIGINALS", uploads)
	c := newCrashTest(t)
	c.server = filed(t, c.dir, notes("first"))
	c.backUp(kept)
	if err := importFiles(t, c.dir, "second", notes("second")); err != nil {
		t.Fatal(err)
	}
	c.backUp(kept)
	if out, err := backedUp(t.Context(), "backup", "--verify", kept); err != nil || !strings.Contains(out, "and 30 originals") || strings.Contains(out, "endpoint") {
		t.Errorf("backup --verify: %v\n%s", err, out)
	}
	if entries, err := os.ReadDir(c.data + "/originals"); err == nil || len(entries) > 0 {
		t.Errorf("the data folder has originals, want them only in the bucket: %v", entries)
	}
	want := answers(c)
	if err := c.server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	if out, err := verified(t, c.data); err != nil {
		t.Errorf("verify of the source: %v\n%s", err, out)
	}
	t.Setenv("ANNALS_ORIGINALS", "") // annals restore writes the originals to the data folder
	r := c.restored(kept)
	if got := answers(r); got != want {
		t.Errorf("replies after the restore: got\n%s\nwant\n%s", got, want)
	}
	if err := r.server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	if out, err := verified(t, r.data); err != nil {
		t.Errorf("verify after the restore: %v\n%s", err, out)
	}
}
