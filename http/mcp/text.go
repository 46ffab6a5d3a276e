package mcp

import (
	"fmt"
	"strings"
)

// inLine puts a text on one line. An untrusted text could otherwise imitate other parts of the
// output.
func inLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ends returns the beginning and the end of a text if it is long. Errors may quote long
// arguments.
func ends(s string) string {
	const most = 200 // bytes of the beginning and of the end
	if len(s) <= 2*most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " … " + strings.ToValidUTF8(s[len(s)-most:], "")
}

// quoted returns a text as a Markdown block quote.
func quoted(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(s)) {
		b.WriteString(strings.TrimRight("> "+line, " \r\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

// bullets returns a Markdown list of items.
func bullets(items []string) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString("- " + inLine(item) + "\n")
	}
	return b.String()
}

// count returns a number and a noun, in the plural unless n is 1: "1 file", "2 files".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// orEmpty returns list, or an empty list for nil, so that its JSON is never null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
