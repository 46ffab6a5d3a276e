package maintain_test

import (
	"io"
	"strings"
	"testing"

	"annals/cmd/annals/maintain"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
)

// Such a copy would copy itself, for as long as the names of its streams grow.
func TestCopyRejectsPrefixWithinSource(t *testing.T) {
	url := esdbtest.Start(t, memory.New()).URL()
	c := maintain.Copy{From: url, To: url + "&prefix=new-", Out: io.Discard, Messages: io.Discard}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "one cluster") {
		t.Errorf("copy to a prefix within the source: %v", err)
	}
}
