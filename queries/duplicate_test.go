package queries_test

import (
	"strings"
	"testing"

	"annals/events"

	"github.com/google/uuid"
)

// file files a document that consists of the given bytes.
func (f *fixture) file(folder uuid.UUID, sha256 string) uuid.UUID {
	id := uuid.New()
	f.add(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: "a.pdf", Content: events.Content{
		SHA256: sha256, MediaType: "application/pdf", TextStream: events.TextStream(id, 0),
	}})
	return id
}

func TestDuplicateInFolderComesFirst(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	open := f.folder(top, "Open", "")
	f.share(open, "user:bob", "read")
	sha256 := strings.Repeat("0d", 32)
	first := f.file(top, sha256)
	second := f.file(open, sha256)
	f.settle()
	for _, c := range []struct {
		user         events.User
		folder, want uuid.UUID
	}{
		{alice, uuid.Nil, first}, {alice, top, first}, {alice, open, second}, {admin, open, second},
		{bob, uuid.Nil, second}, {bob, top, second}, {bob, open, second}, {eve, open, uuid.Nil},
	} {
		got, found, err := f.DuplicateOf(t.Context(), c.user, c.folder, sha256)
		if err != nil || got != c.want || found != (c.want != uuid.Nil) {
			t.Errorf("DuplicateOf(%s, %v) = %v, %v (%v), want %v", c.user.Principal, c.folder, got, found, err, c.want)
		}
	}
}
