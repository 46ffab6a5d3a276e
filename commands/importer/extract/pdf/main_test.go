package pdf_test

import (
	"testing"

	"annals/commands/importer/extract/extracttest"
)

func TestMain(m *testing.M) { extracttest.Main(m) }
