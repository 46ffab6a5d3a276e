package pdfium

import (
	"bufio"
	"bytes"
	"io"
	"reflect"
	"testing"
)

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	doc := Document{Pages: 7, Title: "tïtle", Outline: []Bookmark{{Level: 1, Title: "a", Page: 2, Y: 3.5}, {Level: 2, Title: "", Page: 0, Y: -1}}}
	if got, err := decodeDocument(doc.encode()); err != nil || !reflect.DeepEqual(got, doc) {
		t.Errorf("decodeDocument = %+v, %v, want %+v", got, err, doc)
	}
	page := Page{Number: 3, Width: 612, Height: 792, Broken: true, Notes: []string{"note"},
		Lines: []Line{{Text: "line", X: 1, Y: 2, Right: 3, Size: 4, Weight: 700, Turned: true}, {Text: "次"}}}
	var e encoder
	page.encode(&e)
	if got, err := decodePage(e.b); err != nil || !reflect.DeepEqual(got, page) {
		t.Errorf("decodePage = %+v, %v, want %+v", got, err, page)
	}
	req := request{path: "/a b", maxPages: 5, first: 6, last: 7}
	if got, err := decodeRequest(req.encode()); err != nil || got != req {
		t.Errorf("decodeRequest = %+v, %v, want %+v", got, err, req)
	}
	f := failure{text: "why", fatal: true}
	if got, err := decodeFailure(f.encode()); err != nil || got != f {
		t.Errorf("decodeFailure = %+v, %v, want %+v", got, err, f)
	}
}

// FuzzFrames holds that no bytes make the decoders panic or take more memory
// than there are bytes, and that what they accept is what they would write.
func FuzzFrames(f *testing.F) {
	var e encoder
	(&Page{Number: 1, Lines: []Line{{Text: "x", Size: 10}}, Notes: []string{"n"}}).encode(&e)
	for k, payload := range map[kind][]byte{pageFrame: e.b, openedFrame: Document{Pages: 1, Outline: []Bookmark{{Title: "t"}}}.encode(), failedFrame: failure{text: "t"}.encode()} {
		var b bytes.Buffer
		(&frames{w: bufio.NewWriter(&b)}).write(k, payload)
		f.Add(b.Bytes())
	}
	f.Add([]byte{4, 0xff, 0xff, 0xff, 0xff, 0x0f, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		frames := &frames{r: bufio.NewReader(bytes.NewReader(in))}
		for {
			k, payload, err := frames.read()
			if err != nil {
				if err == io.EOF && len(frames.buf) > len(in) {
					t.Errorf("%d bytes of payload from %d", len(frames.buf), len(in))
				}
				return
			}
			switch k {
			case openedFrame:
				if doc, err := decodeDocument(payload); err == nil && len(doc.Outline) > len(payload) {
					t.Errorf("%d bookmarks in %d bytes", len(doc.Outline), len(payload))
				}
			case pageFrame:
				page, err := decodePage(payload)
				if err != nil {
					continue
				}
				var e encoder
				page.encode(&e)
				if again, err := decodePage(e.b); err != nil || !reflect.DeepEqual(again, page) {
					t.Errorf("%+v comes back as %+v, %v", page, again, err)
				}
			case failedFrame:
				decodeFailure(payload)
			case requestFrame:
				decodeRequest(payload)
			}
		}
	})
}
