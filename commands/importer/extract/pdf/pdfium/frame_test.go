package pdfium

import (
	"reflect"
	"testing"

	"annals/commands/importer/extract/process"
)

func TestEncodeAndDecodeMessages(t *testing.T) {
	doc := Document{Pages: 7, Title: "tïtle", Outline: []Bookmark{{Level: 1, Title: "a", Page: 2, Y: 3.5}, {Level: 2, Title: "", Page: 0, Y: -1}}}
	if got, err := DecodeDocument(doc.Encode()); err != nil || !reflect.DeepEqual(got, doc) {
		t.Errorf("DecodeDocument = %+v, %v, want %+v", got, err, doc)
	}
	page := Page{Number: 3, Width: 612, Height: 792, Broken: true, Notes: []string{"note"},
		Lines: []Line{{Text: "line", X: 1, Y: 2, Right: 3, Size: 4, Weight: 700, Turned: true, Confidence: .5,
			Words: []Word{{Text: "li", X: 1, Right: 2, Top: 3, Bottom: 4}, {Text: "ne", X: 5}, {Text: "other"}}}, {Text: "次", Words: []Word{{Text: "次"}}}},
		Scanned: true, Typed: true, Rules: []Rule{{1, 2, 3, 4}, {X: 5}}}
	var e process.Encoder
	page.Encode(&e)
	if got, err := DecodePage(e.B); err != nil || !reflect.DeepEqual(got, page) {
		t.Errorf("DecodePage = %+v, %v, want %+v", got, err, page)
	}
	req := request{open: true, path: "/a b", maxPages: 5, first: 6, last: 7, scans: true}
	if got, err := decodeRequest(req.encode()); err != nil || got != req {
		t.Errorf("decodeRequest = %+v, %v, want %+v", got, err, req)
	}
	f := failure{text: "why", fatal: true}
	if got, err := decodeFailure(f.encode()); err != nil || got != f {
		t.Errorf("decodeFailure = %+v, %v, want %+v", got, err, f)
	}
}

// Decoders must not panic, or allocate more memory than the payload has bytes. A page that
// was decoded without error must stay the same when it is encoded and decoded again.
func FuzzMessages(f *testing.F) {
	var e process.Encoder
	(&Page{Number: 1, Lines: []Line{{Text: "x y", Size: 10, Words: []Word{{Text: "x"}, {Text: "y"}, {Text: "x"}}}}, Notes: []string{"n"}}).Encode(&e)
	f.Add(e.B)
	f.Add(Document{Pages: 1, Outline: []Bookmark{{Title: "t"}}}.Encode())
	f.Add(failure{text: "t"}.encode())
	f.Fuzz(func(t *testing.T, in []byte) {
		if doc, err := DecodeDocument(in); err == nil && len(doc.Outline) > len(in) {
			t.Errorf("%d bookmarks in %d bytes", len(doc.Outline), len(in))
		}
		decodeFailure(in)
		decodeRequest(in)
		page, err := DecodePage(in)
		if err != nil {
			return
		}
		var e process.Encoder
		page.Encode(&e)
		if again, err := DecodePage(e.B); err != nil || !reflect.DeepEqual(again, page) {
			t.Errorf("%+v was decoded as %+v, %v", page, again, err)
		}
	})
}
