package compose

import (
	"math"

	"annals/queries/answer"
	"annals/queries/answer/support"
)

// features are what the confidence of an answer is computed from: a constant; how sure the quotation of the passages is,
// as a logarithm of odds; whether the answer agrees with it; both multiplied; the share of the words of the
// question that a sentence has; and whether one has the kind of word that is asked for.
type features [6]float64

// weights of the features, which TestConfidenceMeansIt -fit prints.
var weights = features{-3.379, -0.114, 1.687, 0.938, 2.515, 0.985}

// featuresOf returns the features of sentences that answer a question from passages.
func featuresOf(question string, passages []answer.Passage, checker *support.Checker, sentences []Sentence) features {
	asked, kind := 0.0, 0.0
	for _, s := range sentences {
		share, fits := checker.Answers(s.Text, s.Passages)
		asked = max(asked, share)
		if fits {
			kind = 1
		}
	}
	quoted := answer.Find(question, passages)
	agrees := 0.0
	if quoted.Found {
		agrees = support.Agreement(quoted.Text, textOf(sentences))
	}
	p := min(max(quoted.Confidence, 0.02), 0.98)
	sure := math.Log(p / (1 - p))
	return features{1, sure, agrees, agrees * sure, asked, kind}
}

// confidence returns the probability that an answer with some features answers the question.
func (f features) confidence() float64 {
	sum := 0.0
	for i, w := range weights {
		sum += w * f[i]
	}
	return 1 / (1 + math.Exp(-sum))
}
