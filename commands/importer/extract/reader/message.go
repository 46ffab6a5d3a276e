package reader

import (
	"math"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/process"
)

// The kinds of frames between a Reader and its processes. The response to a request is a
// series of sections and steps that ends with done or failed. If the file is a PDF, the
// request is followed by its pages, which a PDFium process has read.
const (
	requestFrame process.Kind = process.Ready + 1 + iota
	documentFrame
	pageFrame
	endFrame
	sectionFrame
	stepFrame
	doneFrame
	failedFrame
)

// request is the request to read the file that is passed with it.
type request struct {
	path, name string
	limits     extract.Limits // without those that only the service checks
}

func (r request) encode() []byte {
	e := new(process.Encoder).Text(r.path).Text(r.name).Int(r.limits.Pages).Int(int(r.limits.TextBytes))
	return e.Int(int(r.limits.Inflated)).Int(r.limits.Inflation).Int(r.limits.Nesting).B
}

func decodeRequest(b []byte) (request, error) {
	d := process.Decoder{B: b}
	r := request{path: d.Text(), name: d.Text()}
	r.limits = extract.Limits{Pages: d.Int(), TextBytes: d.Long(), Inflated: d.Long(), Inflation: d.Int(), Nesting: d.Int()}
	return r, d.End()
}

func encodeSection(e *process.Encoder, s extract.Section) {
	e.Int(s.Index).Int(s.Part).Int(s.Level).Text(s.Title).Int(len(s.Path))
	for _, title := range s.Path {
		e.Text(title)
	}
	e.Int(s.StartPage).Int(s.EndPage).Int(len(s.PageBreaks))
	for _, b := range s.PageBreaks {
		e.Int(b)
	}
	e.Text(s.Text)
	encodeConfidence(e, s.Confidence)
}

// Confidences are sent in thousandths, which is how they are stored. A section with a
// confidence has recognised text.
func encodeConfidence(e *process.Encoder, c float64) {
	e.Int(int(math.Round(1000 * extract.Thousandths(c))))
}

func decodeConfidence(d *process.Decoder) float64 { return float64(d.Int()) / 1000 }

func decodeSection(b []byte) (extract.Section, error) {
	d := process.Decoder{B: b}
	s := extract.Section{Index: d.Int(), Part: d.Int(), Level: d.Int(), Title: d.Text()}
	for range d.Count(1) {
		s.Path = append(s.Path, d.Text())
	}
	s.StartPage, s.EndPage = d.Int(), d.Int()
	for range d.Count(1) {
		s.PageBreaks = append(s.PageBreaks, d.Int())
	}
	s.Text = d.Text()
	s.Confidence = decodeConfidence(&d)
	s.OCR = s.Confidence > 0
	return s, d.End()
}

// encodeInfo encodes the Info that ends a response. last means that the process exits after
// this response.
func encodeInfo(i extract.Info, last bool) []byte {
	e := new(process.Encoder).Text(i.Title).Int(i.Pages).Int(int(i.XML)).Int(i.OCRPages).Int(i.UnreadPages)
	encodeConfidence(e, i.Confidence)
	e.Int(len(i.Warnings))
	for _, w := range i.Warnings {
		e.Text(w)
	}
	return e.Bool(last).B
}

func decodeInfo(b []byte) (i extract.Info, last bool, err error) {
	d := process.Decoder{B: b}
	i = extract.Info{Title: d.Text(), Pages: d.Int(), XML: d.Long(), OCRPages: d.Int(), UnreadPages: d.Int()}
	i.Confidence = decodeConfidence(&d)
	for range d.Count(1) {
		i.Warnings = append(i.Warnings, d.Text())
	}
	last = d.Bool()
	return i, last, d.End()
}

// failure is the reason why a file was not read completely.
type failure struct {
	text string
	file bool // the file is the reason, not the service
	last bool // the process exits after this response
}

func (f failure) encode() []byte {
	return new(process.Encoder).Text(f.text).Bool(f.file).Bool(f.last).B
}

func decodeFailure(b []byte) (failure, error) {
	d := process.Decoder{B: b}
	f := failure{text: d.Text(), file: d.Bool(), last: d.Bool()}
	return f, d.End()
}
