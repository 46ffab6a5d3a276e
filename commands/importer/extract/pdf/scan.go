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

// add counts a page, and returns the mean confidence of its recognised lines, or 0.
func (s *scans) add(p pdfium.Page) float64 {
	var page scans
	for _, l := range p.Lines {
		if l.Confidence > 0 {
			n := float64(utf8.RuneCountInString(l.Text))
			page.sum += n * float64(l.Confidence)
			page.letters += n
		}
	}
	if page.letters > 0 {
		s.pages++
	}
	s.sum, s.letters = s.sum+page.sum, s.letters+page.letters
	return page.confidence()
}

// confidence returns the mean confidence of the text that was recognised, or 0.
func (s *scans) confidence() float64 {
	if s.letters == 0 {
		return 0
	}
	return min(s.sum/s.letters, 1)
}
