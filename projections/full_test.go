package projections_test

import (
	"slices"
	"testing"

	"annals/projections"
	"annals/projections/readmodel"
)

// While the disk is full, reads of the vault are allowed unless the log has an event that
// may revoke access. Every event type must be in exactly one list: revoking or harmless.
func TestRevokingEventsAreClassified(t *testing.T) {
	harmless := []string{
		"FolderCreated", "FolderRenamed", "FolderInvitationAccepted", "FolderInvitationDeclined", "InviterUnblocked",
		"DocumentImported", "DocumentRenamed", "DocumentTagged", "DocumentRevised", "DocumentReread",
	}
	for _, name := range (readmodel.Vault{}).Types() {
		if slices.Contains(projections.Revoking, name) == slices.Contains(harmless, name) {
			t.Errorf("%s is in both lists or in none: add it to revoking in full.go if it may revoke access, else to harmless in this test", name)
		}
	}
}
