package importer

import (
	"testing"

	"go.uber.org/goleak"
)

// Goroutines of Run must have ended when it returns.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
