package pdf

import (
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract/pdf/pdfium"
)

// A line of print that consists of very many words far from each other takes linear time.
func TestLineOfManyPieces(t *testing.T) {
	const words = 100_000
	l := pdfium.Line{Size: 10, Y: 100, Text: strings.TrimSpace(strings.Repeat("w ", words))}
	for i := range words {
		x := float32(i) * 40
		l.Words = append(l.Words, pdfium.Word{Text: "w", X: x, Right: x + 8, Top: 92, Bottom: 102})
	}
	begun := time.Now()
	pieces := cut([]layoutLine{{Line: l}})
	if took := time.Since(begun); len(pieces) != words || pieces[words-1].Text != "w" || took > 20*time.Second {
		t.Errorf("%d pieces after %v, want %d", len(pieces), took, words)
	}
}
