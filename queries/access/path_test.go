package access

import (
	"slices"
	"testing"
)

// However folders at the top level are called, no other is shown like them.
func TestShownPathsAreUnambiguous(t *testing.T) {
	const id = "19b23a22-0000-4000-8000-000000000000"
	granted := []rootRow{{id: id, path: "X/Evil"}, {id: "1", path: "Evil"}, {id: "2", path: "Evil (19b23a22)"}, {id: "3", path: "Evil (19b23a22-)/below"}}
	tops := shownTops(slices.Clone(granted))
	for _, top := range tops {
		if top.id == id && top.shown != "Evil (19b23a22-0)" {
			t.Errorf("the folder at X/Evil is shown as %q", top.shown)
		}
	}
	if len(tops) != 2 {
		t.Errorf("%d folders are shown by other paths, want 2", len(tops))
	}
}
