package vault_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

func TestVersionsShowEarlierState(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	open := f.AddFolder(top, "Open", "")
	f.Share(open, "user:bob", "read")
	id := f.AddDocument(top, "a.md", []string{"draft"}, "The first text.")
	stream := events.DocumentStream(id)
	f.Append(stream, events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentMoved{Version: 2, Folder: open})
	f.Append(stream, events.DocumentTagged{Version: 3, Tags: []string{"final"}})
	f.Revise(id, 4, "The second text.")
	f.Settle()

	versions, err := f.vault.Versions(t.Context(), bob, id)
	var got []string
	for _, v := range versions {
		if v.CreatedBy != "user:alice" || v.CreatedAt.IsZero() {
			t.Errorf("Versions: got version %d by %q at %v", v.Version, v.CreatedBy, v.CreatedAt)
		}
		got = append(got, fmt.Sprint(v.Version, " ", v.Change))
	}
	if want := []string{"1 imported", "2 renamed, moved", "3 tagged", "4 revised"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Versions: got %q (%v), want %q", got, err, want)
	}
	first := versions[0]
	if first.Name != "a.md" || first.Folder != uuid.Nil || strings.Join(first.Tags, ",") != "draft" || !strings.HasPrefix(first.SHA256, "0a") || versions[3].Folder != open {
		t.Errorf("Versions for bob = %+v, want them without the folder that he may not read", versions)
	}
	if versions, err := f.vault.Versions(t.Context(), alice, id); err != nil || versions[0].Folder != top {
		t.Errorf("Versions for alice = %+v, %v, want them with the former folder", versions, err)
	}
	for n, want := range map[int]struct {
		name, title, tags, text, sha string
		folder                       uuid.UUID
	}{
		1: {"a.md", "Title of a.md", "draft", "# Section 1\n\nThe first text.", "0a", uuid.Nil},
		2: {"b.md", "Title of a.md", "draft", "# Section 1\n\nThe first text.", "0a", open},
		3: {"b.md", "Title of a.md", "final", "# Section 1\n\nThe first text.", "0a", open},
		4: {"b.md", "New", "final", "The second text.", "", open},
	} {
		d, err := f.vault.DocumentVersion(t.Context(), bob, id, n, true)
		if err != nil {
			t.Fatalf("DocumentVersion(%d): %v", n, err)
		}
		if d.ID != id || d.Version != n || d.Name != want.name || d.Title != want.title || strings.Join(d.Tags, ",") != want.tags || d.Folder != want.folder ||
			!strings.HasPrefix(d.SHA256, want.sha) || (d.FolderPath == "") != (want.folder == uuid.Nil) || !strings.HasSuffix(content(d), "\n\n"+want.text) {
			t.Errorf("DocumentVersion(%d) = %+v with content %q, want %+v", n, d, content(d), want)
		}
	}
	if d, err := f.vault.DocumentVersion(t.Context(), alice, id, 1, false); err != nil || d.Folder != top || d.FolderPath != "Top" || d.Content != nil {
		t.Errorf("DocumentVersion(1) for alice = %+v, %v, want it with its former folder", d, err)
	}
	for _, n := range []int{-1, 0, 5} {
		if _, err := f.vault.DocumentVersion(t.Context(), bob, id, n, true); !fault.Is(err, fault.NotFound) {
			t.Errorf("DocumentVersion(%d): %v", n, err)
		}
	}
}

func TestVersionsRequireReadAccess(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	open := f.AddFolder(top, "Open", "")
	f.Share(open, "user:bob", "read")
	id := f.AddDocument(open, "a.md", nil, "Text.")
	f.Append(events.DocumentStream(id), events.DocumentMoved{Version: 2, Folder: top})
	f.Settle()
	refuses := func(user events.User, id uuid.UUID) {
		t.Helper()
		if versions, err := f.vault.Versions(t.Context(), user, id); !fault.Is(err, fault.NotFound) {
			t.Errorf("Versions(%s) = %v, %v, want fault.NotFound", user.Principal, versions, err)
		}
		if d, err := f.vault.DocumentVersion(t.Context(), user, id, 1, true); !fault.Is(err, fault.NotFound) {
			t.Errorf("DocumentVersion(1) for %s = %v, %v, want fault.NotFound", user.Principal, d, err)
		}
		if _, _, err := f.vault.VersionMarkdown(t.Context(), user, id, 1); !fault.Is(err, fault.NotFound) {
			t.Errorf("VersionMarkdown(1) for %s: %v, want fault.NotFound", user.Principal, err)
		}
	}
	refuses(bob, id)
	refuses(eve, id)
	refuses(alice, events.SummaryID(top))
	f.Append(events.DocumentStream(id), events.DocumentDeleted{Version: 3})
	f.Settle()
	refuses(alice, id)
	refuses(admin, id)
}
