package vault_test

import (
	"strings"
	"testing"

	"annals/events"

	"github.com/google/uuid"
)

func TestDuplicateInFolderIsPreferred(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	open := f.AddFolder(top, "Open", "")
	f.Share(open, "user:bob", "read")
	sha256 := strings.Repeat("0d", 32)
	first := f.importOriginal(top, sha256)
	second := f.importOriginal(open, sha256)
	f.Settle()
	for _, c := range []struct {
		user         events.User
		folder, want uuid.UUID
	}{
		{alice, uuid.Nil, first}, {alice, top, first}, {alice, open, second}, {admin, open, second},
		{bob, uuid.Nil, second}, {bob, top, second}, {bob, open, second}, {eve, open, uuid.Nil},
	} {
		got, found, err := f.vault.DuplicateOf(t.Context(), c.user, c.folder, sha256)
		if err != nil || got != c.want || found != (c.want != uuid.Nil) {
			t.Errorf("DuplicateOf(%s, %v) = %v, %v (%v), want %v", c.user.Principal, c.folder, got, found, err, c.want)
		}
	}
}
