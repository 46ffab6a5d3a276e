package evaluation

import (
	"math"
	"slices"
	"sort"
	"strings"
)

// depth is the number of ranks that the measures of a search look at. A search returns as
// many passages.
const depth = 10

// rankingMeasures returns the measures of a ranking of documents, best first, without
// repetitions. relevant has the gains of the relevant documents; there is at least one. The
// gain of nDCG is the judgement itself, and the discount is log2(rank+1), as in trec_eval.
func rankingMeasures(ranked []string, relevant map[string]int) map[string]float64 {
	ranked = ranked[:min(len(ranked), depth)]
	var dcg, ideal, reciprocal float64
	found := make([]float64, depth+1) // number of relevant documents among the first n
	for i := range depth {
		found[i+1] = found[i]
		if i >= len(ranked) {
			continue
		}
		if gain := relevant[ranked[i]]; gain > 0 {
			found[i+1]++
			dcg += float64(gain) / math.Log2(float64(i+2))
			if reciprocal == 0 {
				reciprocal = 1 / float64(i+1)
			}
		}
	}
	gains := make([]int, 0, len(relevant))
	for _, gain := range relevant {
		gains = append(gains, gain)
	}
	sort.Sort(sort.Reverse(sort.IntSlice(gains)))
	for i, gain := range gains[:min(len(gains), depth)] {
		ideal += float64(gain) / math.Log2(float64(i+2))
	}
	all := float64(len(relevant))
	return map[string]float64{
		"nDCG@10": dcg / ideal, "recall@1": found[1] / all, "recall@5": found[5] / all, "recall@10": found[10] / all,
		"MRR@10": reciprocal, "hit@1": found[1],
	}
}

// normalized returns the words of a text as the evaluation of SQuAD compares them: in lower
// case, without punctuation and articles. Typographic quotes and dashes count as plain ones,
// because documents have both.
func normalized(text string) []string {
	text = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("‘’“”", r), r < 0x80 && strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", r):
			return -1
		case r == '–' || r == '—':
			return ' '
		}
		return r
	}, strings.ToLower(text))
	article := func(word string) bool { return word == "a" || word == "an" || word == "the" }
	return slices.DeleteFunc(strings.Fields(text), article)
}

// contains reports whether a text has the words of an answer, one after the other.
func contains(text, answer []string) bool {
	for i := 0; len(answer) > 0 && i+len(answer) <= len(text); i++ {
		if slices.Equal(text[i:i+len(answer)], answer) {
			return true
		}
	}
	return false
}

// tokenF1 returns the harmonic mean of precision and recall of the words of a text,
// as the evaluation of SQuAD computes it.
func tokenF1(text, answer []string) float64 {
	if len(text) == 0 || len(answer) == 0 {
		return score(len(text) == len(answer))
	}
	left := make(map[string]int)
	for _, word := range answer {
		left[word]++
	}
	same := 0
	for _, word := range text {
		if left[word] > 0 {
			left[word]--
			same++
		}
	}
	if same == 0 {
		return 0
	}
	precision, recall := float64(same)/float64(len(text)), float64(same)/float64(len(answer))
	return 2 * precision * recall / (precision + recall)
}

// score returns 1 for true and 0 for false.
func score(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

// auroc returns the area under the ROC curve: the probability that a random value of higher
// is above a random value of lower, where equal values count half. Both must have values.
func auroc(higher, lower []float64) float64 {
	lower = slices.Sorted(slices.Values(lower))
	sum := 0.0
	for _, v := range higher {
		below, _ := slices.BinarySearch(lower, v)
		through := sort.Search(len(lower), func(i int) bool { return lower[i] > v })
		sum += float64(below) + float64(through-below)/2
	}
	return sum / float64(len(higher)) / float64(len(lower))
}

// mean returns the mean of values, or 0 if there are none.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// percentile returns the smallest value that is at least as high as a share of all values
// (nearest rank), or 0 if there are none.
func percentile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// median is the mean of the two middle values if their number is even, and 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Bin is a line of the reliability table: the answers whose confidence is at least From and
// below To, or at most To in the last line.
type Bin struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Answers    int     `json:"answers"`
	Right      int     `json:"right"`
	Confidence float64 `json:"mean_confidence"`
}

const bins = 10

// reliability returns the reliability table of answers, and its expected calibration error:
// the mean distance between the confidence of the answers in a line and the share of them
// that is right, weighted by their number.
func reliability(confidences []float64, right []bool) (table []Bin, ece float64) {
	table = make([]Bin, bins)
	for i := range table {
		table[i].From, table[i].To = float64(i)/bins, float64(i+1)/bins
	}
	for i, c := range confidences {
		b := &table[min(bins-1, max(0, int(c*bins)))]
		b.Answers++
		b.Confidence += c
		if right[i] {
			b.Right++
		}
	}
	for i := range table {
		if b := &table[i]; b.Answers > 0 {
			ece += math.Abs(b.Confidence-float64(b.Right)) / float64(len(confidences))
			b.Confidence /= float64(b.Answers)
		}
	}
	return table, ece
}
