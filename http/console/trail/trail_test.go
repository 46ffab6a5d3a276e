package trail

import (
	"testing"
	"time"
)

func TestEntriesLinkToWhatThereIs(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		entry      Entry
		name       string // that the sentence links
		link, undo string
	}{
		{Entry{Type: "DocumentRenamed", DocumentID: "d", DocumentName: "a.md", What: `renamed document "b.md" to "a.md"`, Time: now}, "a.md", "/documents/d", ""},
		{Entry{Type: "FolderShared", FolderID: "f", FolderName: "Staff", What: `shared folder "Staff"`, Time: now}, "Staff", "/folders/f", ""},
		{Entry{Type: "FolderDeleted", FolderID: "f", FolderName: "Staff", What: `deleted folder "Staff"`, Time: now}, "", "", ""},
		{Entry{Type: "DocumentDeleted", DocumentID: "d", DocumentName: "a.md", What: `deleted document "a.md"`, Time: now.Add(-29 * time.Hour)}, "", "", "/documents/d"},
		{Entry{Type: "DocumentDeleted", DocumentID: "d", DocumentName: "a.md", What: `deleted document "a.md"`, Time: now.Add(-31 * time.Hour)}, "", "", ""},
	} {
		parts := c.entry.Sentence()
		if parts[1] != c.name || c.entry.Link() != c.link || c.entry.Undo() != c.undo {
			t.Errorf("%+v: sentence %q, link %q, undo %q", c.entry, parts, c.entry.Link(), c.entry.Undo())
		}
	}
}

func TestByDay(t *testing.T) {
	at := func(text string) Entry {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return Entry{Time: when}
	}
	days := ByDay([]Entry{at("2026-11-24T00:30:00Z"), at("2026-11-24T00:30:00+01:00"), at("2026-11-23T12:00:00Z")})
	if len(days) != 2 || len(days[0].Entries) != 1 || len(days[1].Entries) != 2 {
		t.Errorf("ByDay = %+v, want one entry and two", days)
	}
}
