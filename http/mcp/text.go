package mcp

import (
	"fmt"
	"strings"
)

// inLine puts an untrusted text on one line, so that it cannot imitate other output.
func inLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ends shortens a long text to its beginning and end. An error may contain a long argument.
func ends(s string) string {
	const most = 200 // bytes of each
	if len(s) <= 2*most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " … " + strings.ToValidUTF8(s[len(s)-most:], "")
}

// quoted returns a text as a Markdown quotation.
func quoted(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(s)) {
		b.WriteString(strings.TrimRight("> "+line, " \r\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

// bullets returns a Markdown list.
func bullets(items []string) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString("- " + inLine(item) + "\n")
	}
	return b.String()
}

// count returns a number and a noun, such as "1 file" or "2 files".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// orEmpty returns a list that is never null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
