package pdfium

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary be the process that reads.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "extract-pdf" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout, ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
