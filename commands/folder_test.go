package commands

import (
	"fmt"
	"sync"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

func TestRacingEnsureFolderCreatesOnce(t *testing.T) {
	log := events.NewLog(memory.New())
	defer log.Close()
	handlers := []*Handler{{Log: log}, {Log: log}, {Log: log}}
	ids := make([]uuid.UUID, 24)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			path := "shared/" + fmt.Sprint(i%2) + "/leaf"
			if ids[i], err = handlers[i%3].EnsureFolder(t.Context(), alice, events.Cause{}, foldertree.Destination{Path: path}); err != nil {
				t.Errorf("EnsureFolder(%s): %v", path, err)
			}
		})
	}
	wg.Wait()
	for i, got := range ids {
		if got != ids[i%2] || got == uuid.Nil {
			t.Errorf("EnsureFolder call %d = %v, another call for the same path = %v", i, got, ids[i%2])
		}
	}
	count := 0
	if err := log.ReadStream(t.Context(), events.Folders, 0, func(events.Event) error { count++; return nil }); err != nil || count != 5 {
		t.Errorf("the stream has %d events (%v), want 5", count, err)
	}
}

func TestCheckImport(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	if _, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, foldertree.Destination{Path: "Reports/2026"}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		user    events.User
		folders []string
		kind    fault.Kind
	}{
		{alice, []string{"Reports", "New", "Reports/x", "Reports"}, 0},
		{alice, nil, 0},
		{bob, []string{"New", "Reports/x"}, fault.Forbidden},
		{admin, []string{"Reports/x"}, 0},
		{alice, []string{"Reports", "a//b"}, fault.Invalid},
	} {
		if err := h.CheckImport(t.Context(), test.user, test.folders); fault.KindOf(err) != test.kind {
			t.Errorf("CheckImport(%s, %q) = %v, want kind %v", test.user.Principal, test.folders, err, test.kind)
		}
	}
	for path, want := range map[string]bool{"Reports/2026": true, "Reports/none": false, "None": false} {
		folder, found, err := h.FindFolder(t.Context(), alice, foldertree.Destination{Path: path})
		if err != nil || found != want || found != (folder != uuid.Nil) {
			t.Errorf("FindFolder(%s) = %v, %v, %v; want found %v", path, folder, found, err, want)
		}
	}
}
