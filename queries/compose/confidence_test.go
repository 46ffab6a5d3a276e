package compose

import (
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	"annals/events/prose"
	"annals/queries/answer/answertest"
	"annals/queries/answer/markdown"
	"annals/queries/answer/support"
)

var fitConfidence = flag.Bool("fit", false, "print the weights of the confidence, fitted to the development corpora")

// composed is an answer of an imagined model.
type composed struct {
	features
	right  bool
	weight float64
	fold   int
}

// imagined returns answers to the questions of the development corpora: of each question a sentence of the first
// passages that has its answer, and one that has not, if the check accepts them. They count as if a model chose the
// right one three times of four, and answered every fourth question that has no answer.
func imagined(t *testing.T, step int) (all []composed) {
	for k, q := range answertest.Corpus(t) {
		if k%step != 0 || len(q.Passages) == 0 {
			continue
		}
		passages := q.Passages[:min(5, len(q.Passages))]
		checker := support.New(q.Question, q.Passages)
		done := map[bool]bool{}
		for i, p := range passages {
			for start := 0; start < len(p.Text); {
				end := prose.SentenceEnd(p.Text, start, len(p.Text))
				one := strings.TrimSpace(p.Text[start:end])
				start = end
				right := q.Answerable && slices.ContainsFunc(q.Answers, func(a string) bool { return strings.Contains(one, a) })
				if done[right] || len(one) < 20 || len(one) > 300 || markdown.Plain(one) != one || !checker.Supports(one, []int{i}) || right && q.Docs[i] != q.Doc {
					continue
				}
				done[right] = true
				weight := 0.25
				if right {
					weight = 0.75
				}
				all = append(all, composed{features: featuresOf(q.Question, q.Passages, checker, []Sentence{{one, []int{i}}}), right: right, weight: weight, fold: q.Fold()})
			}
		}
	}
	return all
}

// fitTo returns the weights that maximise the likelihood of the answers outside of a fold.
func fitTo(all []composed, fold int) (w features) {
	for range 4000 {
		gradient := features{}
		sum := 0.0
		for _, a := range all {
			if a.fold == fold {
				continue
			}
			z := 0.0
			for i := range w {
				z += w[i] * a.features[i]
			}
			miss := -1 / (1 + math.Exp(-z))
			if a.right {
				miss++
			}
			for i := range w {
				gradient[i] += a.weight * miss * a.features[i]
			}
			sum += a.weight
		}
		for i := range w {
			w[i] += gradient[i] / sum
		}
	}
	return w
}

func TestConfidenceMeansIt(t *testing.T) {
	step := 20
	if *fitConfidence {
		step = 1
	}
	all := imagined(t, step)
	if *fitConfidence {
		weights = fitTo(all, -1)
		t.Logf("weights: %.3f", weights)
	}
	type bin struct{ right, sum, confidence float64 }
	var bins [10]bin
	for fold := range answertest.Folds {
		final := weights
		if *fitConfidence {
			weights = fitTo(all, fold)
		}
		for _, a := range all {
			if a.fold != fold {
				continue
			}
			c := a.confidence()
			b := &bins[min(9, int(10*c))]
			b.sum += a.weight
			b.confidence += a.weight * c
			if a.right {
				b.right += a.weight
			}
		}
		weights = final
	}
	distance, total := 0.0, 0.0
	for i, b := range bins {
		if b.sum > 0 {
			t.Logf("%.1f: %.2f right of %.0f", float64(i)/10, b.right/b.sum, b.sum)
			distance += math.Abs(b.right - b.confidence)
			total += b.sum
		}
	}
	better, pairs := 0.0, 0.0
	for _, a := range all {
		for _, b := range all {
			if a.right && !b.right {
				pairs++
				switch x, y := a.confidence(), b.confidence(); {
				case x > y:
					better++
				case x == y:
					better += 0.5
				}
			}
		}
	}
	t.Logf("%d answers: calibration error %.3f, AUROC %.3f", len(all), distance/total, better/pairs)
	if distance/total > 0.12 || better/pairs < 0.8 {
		t.Errorf("the confidence is %.3f off on average, and its AUROC is %.3f, want at most 0.12 and at least 0.8", distance/total, better/pairs)
	}
}
