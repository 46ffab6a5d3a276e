package maintain_test

import (
	"io"
	"strings"
	"testing"

	"annals/cmd/annals/maintain"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
)

// If the prefix of the target begins with that of the source, the target's streams
// belong to the source too, and the copy would never end.
func TestCopyRejectsPrefixWithinSource(t *testing.T) {
	url := esdbtest.Start(t, memory.New()).URL()
	c := maintain.Copy{From: url, To: url + "&prefix=new-", Out: io.Discard, Messages: io.Discard}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "in the same cluster") {
		t.Errorf("Copy to a prefix within the source: got error %v, want one about the cluster", err)
	}
}
