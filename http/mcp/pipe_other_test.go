//go:build !unix

package mcp_test

import "testing"

func makePipe(t *testing.T, _ string) {
	t.Helper()
	t.Skip("this system has no named pipes")
}
