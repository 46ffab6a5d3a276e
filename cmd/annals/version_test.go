package main

import "testing"

// The linker sets these two names for a release, and passes over in silence what
// it does not find.
func TestVersionHasReleaseAndCommit(t *testing.T) {
	oldRelease, oldCommit := release, commit
	defer func() { release, commit = oldRelease, oldCommit }()
	release, commit = "7.8.9", "0123456789ab"
	if got := version(); got != "7.8.9+0123456789ab" {
		t.Errorf("version() = %s", got)
	}
}
