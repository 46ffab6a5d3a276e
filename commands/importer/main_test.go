package importer

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine that an importer starts has ended when Run returns.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
