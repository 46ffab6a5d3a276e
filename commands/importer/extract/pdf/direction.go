package pdf

import "annals/commands/importer/extract/pdf/pdfium"

// upright turns a page whose text is turned, such as a table in landscape, so that most of its
// text runs from left to right. The positions are then no longer those of the page as displayed.
func upright(p *pdfium.Page) {
	p.Turn(pdfium.MainDirection(p.Lines))
}
