//go:build !linux

package ocr

import "testing"

const probeFile = "annals-ocr-probe"

func testBinary(t *testing.T) string {
	t.Skip("only Linux has the sandbox")
	return ""
}

func pose() {}
