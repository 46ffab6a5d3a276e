// Package ocr recognises the text in pictures of pages with Tesseract, a program that the
// operator installs. The program runs in confined processes, each of which an Engine of the
// service starts and kills; Main runs in them. The package imports extract/process,
// extract/sandbox and events/fault.
package ocr

import (
	"unicode"
)

// Picture is a picture of a page in grey.
type Picture struct {
	Width, Height int    // in pixels
	Pixels        []byte // rows from the top, one byte for each pixel: 0 is black, 255 white
	DPI           int    // pixels per inch of the page; 0 if unknown
}

// MaxPixels is the maximum number of pixels of a Picture.
const MaxPixels = 8_000_000

// Result is the text of a picture. Its boxes are in pixels of the upright picture: the
// original is turned by Turn quarter turns clockwise, and then by Skew degrees clockwise around
// its centre.
type Result struct {
	Width, Height int // of the upright picture
	Turn          int // from 0 to 3
	Skew          float32
	Lines         []Line // in reading order
}

// Line is a line of text, with at least one word.
type Line struct {
	Words []Word
	// Block counts the blocks of text of the page, such as columns.
	Block int
}

// Word is a recognised word.
type Word struct {
	Text                     string
	Left, Top, Right, Bottom float32
	Confidence               float32 // from 0 to 1
}

// Letters returns the number of letters and digits of the word.
func (w *Word) Letters() (n int) {
	for _, r := range w.Text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// Confidence returns the mean confidence of the words, weighted by their letters, and the
// number of letters. It is 0 without letters.
func (r *Result) Confidence() (mean float32, letters int) {
	for i := range r.Lines {
		for j := range r.Lines[i].Words {
			w := &r.Lines[i].Words[j]
			n := w.Letters()
			mean += float32(n) * w.Confidence
			letters += n
		}
	}
	if letters > 0 {
		mean /= float32(letters)
	}
	return mean, letters
}

// Original returns the box of a word in the original picture.
func (r *Result) Original(w Word) (left, top, right, bottom float32) {
	width, height := float32(r.Width), float32(r.Height)
	left, top, right, bottom = rotatedBox(width/2, height/2, -r.Skew, w.Left, w.Top, w.Right, w.Bottom)
	switch r.Turn {
	case 1:
		left, top, right, bottom = top, width-right, bottom, width-left
	case 2:
		left, top, right, bottom = width-right, height-bottom, width-left, height-top
	case 3:
		left, top, right, bottom = height-bottom, left, height-top, right
	}
	if r.Turn%2 == 1 {
		width, height = height, width
	}
	return max(left, 0), max(top, 0), min(right, width), min(bottom, height)
}
