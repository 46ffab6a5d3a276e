package access

import (
	"slices"
	"testing"
)

// The path shown for a folder must differ from the names of all top-level folders.
func TestShownPathsAreUnambiguous(t *testing.T) {
	const id = "19b23a22-0000-4000-8000-000000000000"
	granted := []rootRow{{id: id, path: "X/Evil"}, {id: "1", path: "Evil"}, {id: "2", path: "Evil (19b23a22)"}, {id: "3", path: "Evil (19b23a22-)/below"}}
	tops := shownTops(slices.Clone(granted))
	for _, top := range tops {
		if top.id == id && top.shown != "Evil (19b23a22-0)" {
			t.Errorf("shownTops shows X/Evil as %q, want \"Evil (19b23a22-0)\"", top.shown)
		}
	}
	if len(tops) != 2 {
		t.Errorf("shownTops returns %d folders, want 2", len(tops))
	}
}
