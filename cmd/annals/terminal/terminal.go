// Package terminal prints text for people: it removes control characters from untrusted
// text, and shows the progress of long operations. It imports no other package of this
// module.
package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Is reports whether stream, such as standard input or output, is a terminal. Output to
// a terminal is read by a person; other output may be stored in a log.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the number of columns of a terminal, or 80 if it is unknown.
func Width(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// Printable replaces the control characters in text. They could move the cursor or
// break a table.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, text)
}

// LinePrinter returns a function that prints lines, which may contain untrusted text.
func LinePrinter(out io.Writer) func(lines ...string) {
	return func(lines ...string) {
		for _, line := range lines {
			_, _ = io.WriteString(out, Printable(line)+"\n")
		}
	}
}
