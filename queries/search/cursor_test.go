package search

import (
	"errors"
	"testing"
)

func TestCursorBeyondMaxDepth(t *testing.T) {
	q := Query{Query: "zebra"}
	q.Cursor = q.cursor("user:alice", place{10, MaxDepth - 1})
	if at, err := q.place("user:alice"); err != nil || at.shown != MaxDepth-1 {
		t.Errorf("place within MaxDepth = %+v, %v", at, err)
	}
	q.Cursor = q.cursor("user:alice", place{10, MaxDepth})
	if _, err := q.place("user:alice"); !errors.Is(err, ErrCursor) {
		t.Errorf("place beyond MaxDepth: %v, want ErrCursor", err)
	}
}
