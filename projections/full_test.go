package projections

import (
	"slices"
	"testing"

	"annals/projections/readmodel"
)

// While its disk is full the vault is read on, unless the log holds something
// after which somebody may read less. Add new types of events here.
func TestRevokingEventsAreClassified(t *testing.T) {
	withdrawsNothing := []string{
		"FolderCreated", "FolderRenamed", "FolderInvitationAccepted", "FolderInvitationDeclined", "InviterUnblocked",
		"DocumentImported", "DocumentRenamed", "DocumentTagged", "DocumentRevised", "DocumentReread",
	}
	for _, name := range (readmodel.Vault{}).Types() {
		if slices.Contains(revoking, name) == slices.Contains(withdrawsNothing, name) {
			t.Errorf("it is unknown whether %s revokes rights", name)
		}
	}
}
