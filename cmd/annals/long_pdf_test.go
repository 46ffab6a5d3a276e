package main

import (
	"bytes"
	"fmt"
	"strings"
)

// longPDF returns a PDF with the given number of pages, and of lines on each page. Each
// line contains its page number.
func longPDF(pages, lines int) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.4\n")
	var kids strings.Builder
	for n := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*n)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), pages)
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for n := range pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*n)
		var content strings.Builder
		content.WriteString("BT /F1 10 Tf 12 TL 72 740 Td")
		for line := range lines {
			fmt.Fprintf(&content, " (Line %d of the long story says what happened on its page%dth day.) Tj T*", line, n+1)
		}
		content.WriteString(" ET")
		object("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String())
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}
