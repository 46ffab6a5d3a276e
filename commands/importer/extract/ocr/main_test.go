package ocr

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// waiting is how long a program that poses as Tesseract waits.
const waiting = 3 * time.Second

// TestMain runs the tests or, if an Engine started the test binary, its process, or a program
// that poses as Tesseract.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "ocr":
		if err := Main(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) > 2 && os.Args[1] == "stdin" && os.Args[2] == "stdout":
		pose()
	case len(os.Args) > 1 && os.Args[1] == "--version":
		fmt.Println("tesseract 5.0.0")
	default:
		os.Exit(m.Run())
	}
}
