package commands

import (
	"errors"
	"sync"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

// give shares a folder of alice with a user, who accepts the invitation.
func give(t *testing.T, h *Handler, folder uuid.UUID, user events.User, access string) {
	t.Helper()
	_, err := h.ShareFolder(t.Context(), alice, "", foldertree.ShareFolder{ID: folder, Version: -1, Permissions: []events.Permission{{Principal: user.Principal, Access: access}}})
	if err == nil {
		_, err = h.AcceptInvitation(t.Context(), user, "", foldertree.AcceptInvitation{Folder: folder})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// If an invitation is accepted and withdrawn concurrently, the user ends up without access.
func TestAcceptanceRacesWithdrawal(t *testing.T) {
	for range 20 {
		log := events.NewLog(memory.New())
		handlers := []*Handler{{Log: log}, {Log: log}}
		folder, _, err := handlers[0].CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Name: "Reports"})
		if err != nil {
			t.Fatal(err)
		}
		share := func(list ...events.Permission) error {
			_, err := handlers[0].ShareFolder(t.Context(), alice, "", foldertree.ShareFolder{ID: folder, Version: -1, Permissions: list})
			return err
		}
		if err := share(events.Permission{Principal: "user:bob", Access: "read"}); err != nil {
			t.Fatal(err)
		}
		var accepted, withdrawn error
		var wg sync.WaitGroup
		wg.Go(func() {
			_, accepted = handlers[1].AcceptInvitation(t.Context(), bob, "", foldertree.AcceptInvitation{Folder: folder})
		})
		wg.Go(func() { withdrawn = share() })
		wg.Wait()
		if withdrawn != nil || accepted != nil && !fault.Is(accepted, fault.NotFound) {
			t.Fatalf("AcceptInvitation: %v, ShareFolder: %v", accepted, withdrawn)
		}
		tree := foldertree.New(foldertree.Rules{})
		if err := log.ReadStream(t.Context(), events.Folders, 0, func(e events.Event) error { tree.Apply(e); return nil }); err != nil {
			t.Fatal(err)
		}
		if got := tree.Access(bob, folder); got != events.NoAccess {
			t.Fatalf("Access after the withdrawal = %v, want none (AcceptInvitation: %v)", got, accepted)
		}
		if err := errors.Join(log.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
