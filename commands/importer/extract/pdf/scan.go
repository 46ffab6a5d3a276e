package pdf

import (
	"unicode/utf8"

	"annals/commands/importer/extract/pdf/pdfium"
)

// scans counts the pages whose text was recognised.
type scans struct {
	pages   int
	sum     float64 // confidence of the lines, weighted by their characters
	letters float64
}

func (s *scans) add(p pdfium.Page) {
	recognised := false
	for _, l := range p.Lines {
		if l.Confidence > 0 {
			recognised = true
			n := float64(utf8.RuneCountInString(l.Text))
			s.sum += n * float64(l.Confidence)
			s.letters += n
		}
	}
	if recognised {
		s.pages++
	}
}

// confidence returns the mean confidence of the text that was recognised, or 0.
func (s *scans) confidence() float64 {
	if s.letters == 0 {
		return 0
	}
	return min(s.sum/s.letters, 1)
}
