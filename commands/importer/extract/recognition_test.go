package extract

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// collect returns the sections that write makes.
func collect(t *testing.T, write func(w *Writer) error) []Section {
	t.Helper()
	var all []Section
	w := NewWriter(func(s Section) error { all = append(all, s); return nil }, 0)
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWriterWeighsConfidenceByLetters(t *testing.T) {
	sections := collect(t, func(w *Writer) error {
		w.Recognised(0.9)
		if err := w.Begin(1, "Two"); err != nil {
			return err
		}
		if err := w.Write("éin ab\n"); err != nil { // 5 letters
			return err
		}
		w.Recognised(0.1)
		if err := w.Write("zz\n"); err != nil {
			return err
		}
		w.Recognised(7)
		if err := w.Begin(1, "Seen"); err != nil {
			return err
		}
		w.Recognised(-1)
		return w.Begin(1, "Typed again")
	})
	for i, want := range []float64{0.74, 1, 0} { // (8*0.9 + 2*0.1) / 10
		s := sections[i]
		if s.Confidence != want || s.OCR != (want > 0) {
			t.Errorf("section %q: OCR %v, confidence %v, want %v", s.Title, s.OCR, s.Confidence, want)
		}
	}
}

// No part has both recognised and other text, and each has the pages of its own text.
func TestWriterEndsPartsWhereRecognisedTextBeginsOrEnds(t *testing.T) {
	sections := collect(t, func(w *Writer) error {
		var errs []error
		page := func(n int, confidence float64, text string) {
			w.Page(n)
			w.Recognised(confidence)
			errs = append(errs, w.Write(text))
		}
		page(1, 0, "typed")
		errs = append(errs, w.Begin(1, "Both"))
		w.Page(2)
		page(3, 0, "more that was typed and")
		page(4, 0.8, " goes on in a scan.\n\n")
		w.Page(5)
		page(6, 0.6, "Scanned, too.")
		page(6, 0, "\n\nA comment.")
		page(7, 0, "\n\nTyped.")
		page(8, 0.5, "\n\nThe last.")
		errs = append(errs, w.Begin(2, "Seen"))
		page(9, 0, "Typed below a scanned title.")
		errs = append(errs, w.Begin(2, "Typed"))
		page(10, 0.9, "Scanned below a typed title.")
		return errors.Join(errs...)
	})
	for i, want := range []Section{
		{Index: 0, StartPage: 1, EndPage: 1, Text: "typed"},
		{Index: 1, Title: "Both", StartPage: 1, EndPage: 3, PageBreaks: []int{0, 0}, Text: "more that was typed and"},
		{Index: 1, Title: "Both", Part: 1, StartPage: 4, EndPage: 6, PageBreaks: []int{21, 21}, Text: " goes on in a scan.\n\nScanned, too.\n\n", Confidence: 0.708}, // (14*0.8 + 12*0.6) / 26
		{Index: 1, Title: "Both", Part: 2, StartPage: 6, EndPage: 7, PageBreaks: []int{12}, Text: "A comment.\n\nTyped.\n\n"},
		{Index: 1, Title: "Both", Part: 3, StartPage: 8, EndPage: 8, Text: "The last.", Confidence: 0.5},
		{Index: 2, Title: "Seen", StartPage: 8, EndPage: 8, Confidence: 0.5},
		{Index: 2, Title: "Seen", Part: 1, StartPage: 9, EndPage: 9, Text: "Typed below a scanned title."},
		{Index: 3, Title: "Typed", StartPage: 9, EndPage: 9},
		{Index: 3, Title: "Typed", Part: 1, StartPage: 10, EndPage: 10, Text: "Scanned below a typed title.", Confidence: 0.9},
	} {
		if i >= len(sections) {
			t.Fatalf("%d parts, want %+v next", len(sections), want)
		}
		got := sections[i]
		if path := got.Path; got.Title != "" && (len(path) == 0 || path[len(path)-1] != got.Title) {
			t.Errorf("part %d has the path %q", i, path)
		}
		want.OCR, got.Path, got.Level = want.Confidence > 0, nil, 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("part %d is\n%+v, want\n%+v", i, got, want)
		}
	}
	if len(sections) != 9 {
		t.Errorf("%d parts, want 9", len(sections))
	}
}

// The confidence of a part is about that of each of its pages.
func TestWriterEndsPartsWhereConfidenceChanges(t *testing.T) {
	sections := collect(t, func(w *Writer) error {
		var errs []error
		for i, confidence := range []float64{0.95, 0.88, 0.7, 0.72, 0.93, 0.86, 0.8, 0.9} {
			w.Page(i + 1)
			w.RecognisedPage(confidence)
			for _, line := range []float64{0.2, -0.1, -0.1} { // lines of a page may differ
				w.Recognised(min(confidence+line, 0.99))
				errs = append(errs, w.Write("Line of a page.\n"))
			}
			w.Recognised(0)
		}
		w.RecognisedPage(0.3)
		w.Recognised(0.3)
		errs = append(errs, w.Begin(1, "Worse"))
		w.Page(9)
		errs = append(errs, w.Write("Text below it.\n"))
		w.Page(10)
		w.RecognisedPage(0.8)
		errs = append(errs, w.Write("Better text.\n"))
		return errors.Join(errs...)
	})
	var got []string
	for _, s := range sections {
		got = append(got, fmt.Sprint(s.Title, " ", s.Part, ": ", s.StartPage, "-", s.EndPage))
	}
	want := []string{" 0: 1-2", " 1: 3-4", " 2: 5-6", " 3: 7-8", "Worse 0: 8-9", "Worse 1: 10-10"}
	if !slices.Equal(got, want) {
		t.Errorf("parts %q, want %q", got, want)
	}
}

// Each part is an event, so parts count in the limit of a file's events.
func TestPartsOfScansAreLimited(t *testing.T) {
	var events int
	w := NewWriter(func(s Section) error { events += s.cost() + JSONSize(s.Text); return nil }, 0)
	w.Limit(0)
	err := w.Begin(1, "Pages")
	for n := 0; err == nil; n++ {
		w.Page(n + 1)
		w.Recognised(float64(n % 2))
		err = w.Write("x")
	}
	if err != ErrFull || UnlessFull(w.Close()) != nil || events > int(Allowance(0)) || events < int(Allowance(0))/2 {
		t.Errorf("%v after events of %d bytes, want at most %d", err, events, Allowance(0))
	}
}

// A long section has parts. Each has the confidence of its own text, wherever it is cut.
func TestWriterWeighsConfidenceOfParts(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	sections := collect(t, func(w *Writer) error {
		for i := range 4 * MaxPart / len(line) {
			w.Recognised(0)
			if i >= 2*MaxPart/len(line) {
				w.Recognised(0.5)
			}
			if err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	if len(sections) < 4 {
		t.Fatalf("got %d parts, want 4 or more", len(sections))
	}
	first, mid, last := sections[0], sections[len(sections)/2], sections[len(sections)-1]
	if first.OCR || !mid.OCR || last.Confidence != 0.5 {
		t.Errorf("confidences are %v, %v, %v, want 0, more, and 0.5", first.Confidence, mid.Confidence, last.Confidence)
	}
	whole := collect(t, func(w *Writer) error {
		w.Recognised(0.25)
		return w.Write(strings.Repeat(line, 3*MaxPart/len(line)))
	})
	for i, s := range whole {
		if s.Confidence != 0.25 {
			t.Errorf("part %d has the confidence %v, want 0.25", i, s.Confidence)
		}
	}
}

func TestThousandths(t *testing.T) {
	for c, want := range map[float64]float64{0.87449: 0.874, 1.5: 1, 0.00001: 0.001, 0: 0, -2: 0, math.Inf(1): 1, math.NaN(): 0} {
		if got := Thousandths(c); got != want {
			t.Errorf("Thousandths(%v) = %v, want %v", c, got, want)
		}
	}
}
