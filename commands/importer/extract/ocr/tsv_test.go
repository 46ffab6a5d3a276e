package ocr

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"

func TestParseTSV(t *testing.T) {
	r := parseTSV(head+
		"1\t1\t0\t0\t0\t0\t0\t0\t100\t200\t-1\t\n"+
		"4\t1\t1\t1\t1\t0\t5\t6\t70\t8\t-1\t\n"+
		"5\t1\t1\t1\t1\t1\t5\t6\t30\t8\t96.5\tHello\n"+
		"5\t1\t1\t1\t1\t2\t40\t6\t900\t8\t50\twor\tld\n"+
		"5\t1\t1\t1\t1\t3\t40\t6\t5\t8\t1\tstain\n"+
		"4\t1\t2\t1\t1\t0\t5\t26\t70\t8\t-1\t\n"+
		"5\t1\t2\t1\t1\t1\tx\t6\t30\t8\t96.5\tmalformed\n"+
		"4\t1\t3\t1\t1\t0\t5\t46\t70\t8\t-1\t\n"+
		"5\t1\t3\t1\t1\t1\t5\t46\t30\t8\t80\t\u0041\u0308\x00\xff\n", 100, 200)
	want := Result{Width: 100, Height: 200, Lines: []Line{
		{Block: 1, Words: []Word{{"Hello", 5, 6, 35, 14, 0.965}, {"world", 40, 6, 100, 14, 0.5}}},
		{Block: 3, Words: []Word{{"Ä", 5, 46, 35, 54, 0.8}}},
	}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("parseTSV = %+v, want %+v", r, want)
	}
	if mean, letters := r.Confidence(); letters != 11 || mean < 0.737 || mean > 0.740 {
		t.Errorf("Confidence = %v of %d letters", mean, letters)
	}
}

func TestEncodeAndDecode(t *testing.T) {
	r := Result{Width: 10, Height: 20, Turn: 3, Skew: -1.5, Lines: []Line{{Block: 2, Words: []Word{{"a", 1, 2, 3, 4, 0.5}, {"次", 0, 0, 10, 20, 1}}}}}
	if got, err := DecodeResult(r.Encode()); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("DecodeResult = %+v, %v, want %+v", got, err, r)
	}
	for name, change := range map[string]func(*Result){
		"outside":    func(r *Result) { r.Lines[0].Words[0].Right = 11 },
		"backwards":  func(r *Result) { r.Lines[0].Words[0].Left = 4 },
		"certain":    func(r *Result) { r.Lines[0].Words[0].Confidence = 1.1 },
		"lines":      func(r *Result) { r.Lines[0].Words[0].Text = "a\nb" },
		"long":       func(r *Result) { r.Lines[0].Words[0].Text = strings.Repeat("x", maxWord+1) },
		"no words":   func(r *Result) { r.Lines[0].Words = nil },
		"no picture": func(r *Result) { r.Width = 0 },
		"skew":       func(r *Result) { r.Skew = 90 },
	} {
		bad := Result{Width: r.Width, Height: r.Height, Lines: []Line{{Words: append([]Word(nil), r.Lines[0].Words...)}}}
		change(&bad)
		if _, err := DecodeResult(bad.Encode()); err == nil {
			t.Errorf("%s: DecodeResult of %+v succeeded", name, bad)
		}
	}
	req := request{Picture{Width: 2, Height: 2, Pixels: []byte("abcd"), DPI: 72}, time.Minute, false}
	if got, err := decodeRequest(req.encode(), nil); err != nil || !reflect.DeepEqual(got, req) {
		t.Errorf("decodeRequest = %+v, %v, want %+v", got, err, req)
	}
}

// What Tesseract prints is parsed without panic, and gives a result that is valid.
func FuzzTSV(f *testing.F) {
	f.Add(head + "4\t1\t1\t1\t1\t0\t5\t6\t70\t8\t-1\t\n5\t1\t1\t1\t1\t1\t5\t6\t30\t8\t96.5\tHello\n")
	f.Add("5\t1\t1\t1\t1\t1\t-5\t6\t99999999999\t8\tNaN\t\u200b\n")
	f.Fuzz(func(t *testing.T, tsv string) {
		r := parseTSV(tsv, 50, 60)
		r.straighten()
		if _, err := DecodeResult(r.Encode()); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	})
}

// A result of a hostile process is decoded without panic, and stays the same when it is encoded
// and decoded again.
func FuzzResult(f *testing.F) {
	f.Add((&Result{Width: 9, Height: 9, Lines: []Line{{Words: []Word{{"a", 1, 2, 3, 4, 0.5}}}}}).Encode())
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := DecodeResult(in)
		if err != nil {
			return
		}
		if again, err := DecodeResult(r.Encode()); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v was decoded as %+v, %v", r, again, err)
		}
	})
}
