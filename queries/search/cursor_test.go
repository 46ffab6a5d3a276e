package search

import (
	"errors"
	"testing"
)

func TestCursorBeyondMaxDepthIsRefused(t *testing.T) {
	q := Query{Query: "zebra"}
	q.Cursor = q.cursor("user:alice", place{10, MaxDepth - 1})
	if at, err := q.place("user:alice"); err != nil || at.shown != MaxDepth-1 {
		t.Errorf("the last place within the depth is read as %+v, %v", at, err)
	}
	q.Cursor = q.cursor("user:alice", place{10, MaxDepth})
	if _, err := q.place("user:alice"); !errors.Is(err, ErrCursor) {
		t.Errorf("a place beyond the depth is read: %v", err)
	}
}
