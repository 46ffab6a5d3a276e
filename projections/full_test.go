package projections

import (
	"slices"
	"testing"
)

// While its disk is full the vault is read on, unless the log holds something
// after which somebody may read less. A new type of event is to be told apart here.
func TestWhatTakesRightsAwayIsKnownOfEveryEventOfTheVault(t *testing.T) {
	withdrawsNothing := []string{
		"FolderCreated", "FolderRenamed", "FolderInvitationAccepted", "FolderInvitationDeclined", "InviterUnblocked",
		"DocumentImported", "DocumentRenamed", "DocumentTagged", "DocumentRevised", "DocumentReread",
	}
	for _, name := range (Vault{}).Types() {
		if slices.Contains(withdrawing, name) == slices.Contains(withdrawsNothing, name) {
			t.Errorf("it is not known whether %s takes rights away", name)
		}
	}
}
