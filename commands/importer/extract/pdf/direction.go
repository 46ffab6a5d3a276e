package pdf

import "annals/commands/importer/extract/pdf/pdfium"

// upright turns a page whose text is turned, such as a table in landscape, so that most of its
// text runs from left to right. The positions are then no longer those of the page as displayed.
func upright(p *pdfium.Page) {
	Turn(p, pdfium.MainDirection(p.Lines))
}

// Turn turns a page so that text in a direction runs from left to right: by as many quarter turns clockwise as the direction
// is turned counterclockwise. It changes the lines and rules in place.
func Turn(p *pdfium.Page, main pdfium.Direction) {
	if main == pdfium.Rightwards || main >= pdfium.Stacked {
		return
	}
	w, h := p.Width, p.Height
	point := func(x, y float32) (float32, float32) {
		switch main {
		case pdfium.Upwards:
			return h - y, x
		case pdfium.Leftwards:
			return w - x, h - y
		}
		return y, w - x
	}
	if main != pdfium.Leftwards {
		p.Width, p.Height = h, w
	}
	for i, r := range p.Rules {
		x0, y0 := point(r.X, r.Top)
		x1, y1 := point(r.Right, r.Bottom)
		p.Rules[i] = pdfium.Rule{X: min(x0, x1), Right: max(x0, x1), Top: min(y0, y1), Bottom: max(y0, y1)}
	}
	for i := range p.Lines {
		l := &p.Lines[i]
		for j := range l.Words {
			o := &l.Words[j]
			x0, y0 := point(o.X, o.Top)
			x1, y1 := point(o.Right, o.Bottom)
			o.X, o.Right, o.Top, o.Bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
		}
		l.X, l.Y = point(l.X, l.Y)
		if l.Direction < pdfium.Stacked {
			l.Direction = (l.Direction + 4 - main) % 4
		}
		l.Turned = l.Direction != pdfium.Rightwards
		l.Right = l.X
		for _, w := range l.Words {
			l.Right = max(l.Right, w.Right)
		}
	}
}
