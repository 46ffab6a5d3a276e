package importer

import (
	"testing"

	"go.uber.org/goleak"
)

// Run must not return before its goroutines have ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
