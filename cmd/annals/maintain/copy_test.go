package maintain_test

import (
	"io"
	"strings"
	"testing"

	"annals/cmd/annals/maintain"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
)

// Otherwise the copy would copy its own events endlessly.
func TestCopyRejectsPrefixWithinSource(t *testing.T) {
	url := esdbtest.Start(t, memory.New()).URL()
	c := maintain.Copy{From: url, To: url + "&prefix=new-", Out: io.Discard, Messages: io.Discard}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "in the same cluster") {
		t.Errorf("Copy to a prefix within the source: got error %v, want one about the cluster", err)
	}
}
