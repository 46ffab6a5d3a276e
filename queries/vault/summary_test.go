package vault_test

import (
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

func TestFolderSummary(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.AddFolder(top, "Sub", "")
	f.AddDocument(top, "a.md", nil, "Text.")
	f.Settle()
	s, err := f.vault.FolderSummary(t.Context(), alice, "Top")
	if err != nil || s.Status != "ok" || s.Folder != "Top" || s.Content != "- **Title of a.md** (a.md): About a.md.\n- **Sub/**: a folder\n" {
		t.Fatalf("FolderSummary = %+v, %v", s, err)
	}
	d, err := f.vault.Document(t.Context(), alice, s.Document)
	if err != nil || d.Content == nil || !strings.HasPrefix(*d.Content, "---\ntype: folder-summary\ntitle: \"Summary of Top\"\n---\n\n- **Title") {
		t.Errorf("Document of the summary = %+v, %v", d, err)
	}
	if _, err := f.vault.Document(t.Context(), eve, s.Document); !fault.Is(err, fault.NotFound) {
		t.Errorf("Document of the summary for eve: %v, want fault.NotFound", err)
	}
	for _, path := range []string{"Nowhere", "Top/Sub"} {
		if s, err := f.vault.FolderSummary(t.Context(), alice, path); err != nil || s.Status != "none" {
			t.Errorf("FolderSummary(%s) = %+v, %v, want status none", path, s, err)
		}
	}
	if s, err := f.vault.FolderSummary(t.Context(), eve, "Top"); err != nil || s.Status != "none" {
		t.Errorf("FolderSummary for eve = %+v, %v, want status none", s, err)
	}
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "b.md", Folder: "Top"}, events.FileAccepted{File: 1, Name: "b.md", Folder: "New"},
		events.ImportRequested{Files: 2, User: "user:alice"})
	f.Settle()
	for path, want := range map[string]string{"Top": "unavailable", "New": "unavailable"} {
		if s, err := f.vault.FolderSummary(t.Context(), alice, path); err != nil || s.Status != want {
			t.Errorf("FolderSummary(%s) during a job = %+v, %v, want unavailable", path, s, err)
		}
	}
	if s, err := f.vault.FolderSummary(t.Context(), eve, "New"); err != nil || s.Status != "none" {
		t.Errorf("FolderSummary for eve during a job = %+v, %v, want status none", s, err)
	}
}

func TestFolderSummaryNormalizesPath(t *testing.T) {
	f := newFixture(t)
	f.AddFolder(f.AddFolder(uuid.Nil, "Top", "user:alice"), "Süd", "")
	f.Append(events.JobStream(uuid.New()), events.FileAccepted{Name: "a.md", Folder: "Top/Süd"}, events.FileAccepted{File: 1, Name: "b.md", Folder: "New/One"},
		events.ImportRequested{Files: 2, User: "user:alice"})
	f.Settle()
	for _, path := range []string{"Top/Süd", "Top/Süd/", "/Top//Süd", " Top / Su\u0308d ", "New/One", "New/One/", "//New/ One"} {
		s, err := f.vault.FolderSummary(t.Context(), alice, path)
		if err != nil || s.Status != "unavailable" {
			t.Errorf("FolderSummary(%q) during a job = %+v, %v, want unavailable", path, s, err)
		}
	}
}

func TestSummaryWhileJobImportsIntoMovedFolder(t *testing.T) {
	f := newFixture(t)
	top, other := f.AddFolder(uuid.Nil, "Top", "user:alice"), f.AddFolder(uuid.Nil, "Other", "user:alice")
	reports := f.AddFolder(top, "Reports", "")
	f.Share(other, "user:bob", "read")
	f.Append(events.JobStream(uuid.New()),
		events.FileAccepted{Name: "a.md", Folder: "Top/Reports/2024/May", Under: reports, Rest: "2024/May"},
		events.FileAccepted{File: 1, Name: "b.md", Folder: "Top/Reports", Under: reports},
		events.ImportRequested{Files: 2, User: "user:alice"})
	year := f.AddFolder(reports, "2024", "")
	f.Append(events.Folders, events.FolderRenamed{Folder: reports, Name: "Papers"}, events.FolderMoved{Folder: reports, Parent: other}, events.FolderRenamed{Folder: top, Name: "Old"})
	busy := func(user events.User, path string, want bool) {
		t.Helper()
		f.Settle()
		s, err := f.vault.FolderSummary(t.Context(), user, path)
		if err != nil || (s.Status == "unavailable") != want {
			t.Errorf("FolderSummary(%q) for %s = %+v, %v, want unavailable: %v", path, user.Principal, s, err, want)
		}
	}
	for path, want := range map[string]bool{
		"Other/Papers": true, "Other/Papers/2024/May": true, "Other/Papers/2024": false, "Other": false,
		"Top/Reports": false, "Top/Reports/2024/May": false, "Old/Papers": false,
	} {
		busy(alice, path, want)
	}
	busy(bob, "Other/Papers", true)
	busy(bob, "Other/Papers/2024/May", false) // the folder does not exist yet, and the job is alice's
	f.AddFolder(year, "May", "")
	busy(bob, "Other/Papers/2024/May", true)
	busy(alice, "Other/Papers/2024/May", true)
	busy(eve, "Other/Papers", false)
}

func TestSummaryOfStoppedReadModelIsUnavailable(t *testing.T) {
	f := newFixture(t)
	f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	f.Stop(f.Models.Summaries)
	folder := f.AddFolder(uuid.Nil, "New", "user:alice")
	f.AddDocument(folder, "a.md", nil, "Text.")
	f.AwaitStop(f.Models.Summaries)
	f.Await(f.Models.Vault)
	if s, err := f.vault.FolderSummary(t.Context(), alice, "New"); err != nil || s.Status != "unavailable" {
		t.Errorf("FolderSummary = %+v, %v, want it unavailable", s, err)
	}
	if d, err := f.vault.Document(t.Context(), alice, events.SummaryID(folder)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Document = %+v, %v of a summary, want fault.Unavailable", d, err)
	}
}
