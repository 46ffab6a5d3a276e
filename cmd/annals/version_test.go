package main

import "testing"

// cmd/release sets the variables release and commit through the linker, which silently
// ignores names that do not exist.
func TestVersionHasReleaseAndCommit(t *testing.T) {
	oldRelease, oldCommit := release, commit
	defer func() { release, commit = oldRelease, oldCommit }()
	release, commit = "7.8.9", "0123456789ab"
	if got := version(); got != "7.8.9+0123456789ab" {
		t.Errorf("version() = %s", got)
	}
}
