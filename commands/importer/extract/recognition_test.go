package extract

import (
	"math"
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
		w.Page(1)
		if err := w.Write("typed\n"); err != nil {
			return err
		}
		if err := w.Begin(1, "Typed title"); err != nil {
			return err
		}
		w.Recognised(0.9)
		if err := w.Write("éin ab\n"); err != nil { // 5 letters
			return err
		}
		w.Recognised(0)
		if err := w.Write("typed, and not counted\n"); err != nil {
			return err
		}
		w.Recognised(0.9)
		w.Page(2)
		if err := w.Write("abc\n"); err != nil {
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
	for i, want := range []float64{0, 0.74, 1, 0} { // (8*0.9 + 2*0.1) / 10
		s := sections[i]
		if s.Confidence != want || s.OCR != (want > 0) {
			t.Errorf("section %q: OCR %v, confidence %v, want %v", s.Title, s.OCR, s.Confidence, want)
		}
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
