package extract

import (
	"math"
	"unicode"
)

// recognition computes the confidence of the recognised text in the open part.
type recognition struct {
	confidence float64 // of the text that follows; at most 0 if it is not recognised
	part       bool    // the title or text of the open part was recognised
	page       float64 // mean confidence of the page of the text that follows; 0 if unknown
	low, high  float64 // of the means of the open part's pages; 0 if there are none
	continues  bool    // text that follows belongs to the last run
	runs       []run   // of recognised text in the open part, in order

	letters, sum float64 // letters counted, and the sum of their confidences
}

// run is a range of the open part's bytes that was recognised with one confidence.
type run struct {
	from, to   int
	confidence float64
}

func (r *recognition) set(confidence float64) {
	if confidence = min(confidence, 1); confidence != r.confidence {
		r.confidence, r.continues = confidence, false
	}
}

// maxSpread is how much the confidences of the pages of a part may differ. The confidence of the
// part would be wrong for a page that differs more.
const maxSpread = 0.1

// turns reports whether the text that follows was recognised and that of the open part was not,
// or the other way round, or was recognised with another confidence.
func (r *recognition) turns() bool {
	recognised := r.confidence > 0
	return r.part != recognised || recognised && r.page > 0 && r.high > 0 && max(r.high, r.page)-min(r.low, r.page) > maxSpread
}

// turn begins a part without title.
func (r *recognition) turn() { r.low, r.high = 0, 0 }

// begin begins a section with this title.
func (r *recognition) begin(title string) {
	r.turn()
	r.runs, r.continues, r.part = r.runs[:0], false, r.confidence > 0
	if r.part {
		r.count(title, r.confidence)
		r.spread()
	}
}

// spread adds the confidence of the page to those of the open part.
func (r *recognition) spread() {
	if r.page <= 0 {
		return
	}
	r.high = max(r.high, r.page)
	if r.low == 0 || r.page < r.low {
		r.low = r.page
	}
}

// wrote says that the bytes from from to to of the open part were written.
func (r *recognition) wrote(from, to int) {
	if r.part = r.confidence > 0; r.part {
		r.spread()
	}
	switch n := len(r.runs) - 1; {
	case r.confidence <= 0:
	case r.continues:
		r.runs[n].to = to
	default:
		r.runs, r.continues = append(r.runs, run{from, to, r.confidence}), true
	}
}

// cut returns the confidence of the part that ends after text, or 0 if nothing of it was
// recognised. What follows text belongs to the next part.
func (r *recognition) cut(text []byte) (confidence float64) {
	n := len(text)
	rest := r.runs[:0]
	for _, run := range r.runs {
		if from, to := min(run.from, n), min(run.to, n); from < to {
			r.count(string(text[from:to]), run.confidence)
		}
		if run.to > n {
			run.from, run.to = max(run.from-n, 0), run.to-n
			rest = append(rest, run)
		}
	}
	if r.letters > 0 {
		confidence = Thousandths(r.sum / r.letters)
	}
	r.continues = r.continues && len(rest) > 0
	r.runs, r.letters, r.sum = rest, 0, 0
	return confidence
}

// count adds the letters of a text; any character but white space counts as a letter.
func (r *recognition) count(text string, confidence float64) {
	for _, c := range text {
		if !unicode.IsSpace(c) {
			r.letters++
			r.sum += confidence
		}
	}
}

// Thousandths rounds a confidence above 0 to thousandths, but not to 0, which would mean
// that nothing was recognised. It returns 0 for 0 or less, and for values that are not a
// number.
func Thousandths(confidence float64) float64 {
	if !(confidence > 0) {
		return 0
	}
	return max(1, math.Round(1000*min(confidence, 1))) / 1000
}
