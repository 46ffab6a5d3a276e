package search

import (
	"testing"
	"time"
)

// SetLabelWait sets how long searches wait for moves and changes of tags, until the test
// ends.
func SetLabelWait(t *testing.T, d time.Duration) {
	before := labelWait
	labelWait = d
	t.Cleanup(func() { labelWait = before })
}
