package support_test

import (
	"regexp"
	"strings"
	"testing"

	"annals/events/prose"
	"annals/queries/answer/answertest"
	"annals/queries/answer/markdown"
	"annals/queries/answer/support"
)

// Sentences of articles are supported by the passage that they are from, and neither by
// another one nor with another number or name, nor negated.
func TestSupportsSentencesOfArticles(t *testing.T) {
	number := regexp.MustCompile(`\b\d[\d,.]*`)
	name := regexp.MustCompile(` [A-Z][a-z]{4,}`)
	verb := regexp.MustCompile(` (is|was|are|were) `)
	supported, all := map[string]int{}, map[string]int{}
	for i, q := range answertest.Corpus(t) {
		if i%10 != 0 || !q.Answerable || len(q.Passages) < 2 {
			continue
		}
		text := q.Passages[0].Text
		s := support.New(q.Question, q.Passages[:2])
		count := func(how, sentence string, cited int) {
			all[how]++
			if s.Supports(sentence, []int{cited}) {
				supported[how]++
			}
		}
		for start := 0; start < len(text); {
			end := prose.SentenceEnd(text, start, len(text))
			one := strings.TrimSpace(text[start:end])
			start = end
			if len(one) < 20 || len(one) > 300 || markdown.Plain(one) != one {
				continue
			}
			count("verbatim", one, 0)
			if !strings.Contains(q.Passages[1].Text, one) {
				count("of another passage", one, 1)
			}
			for how, changed := range map[string]string{
				"with another number": number.ReplaceAllString(one, "7$0"),
				"with another name":   name.ReplaceAllString(one, " Zanzibar"),
				"negated":             verb.ReplaceAllString(one, " $1 not "),
			} {
				if changed != one && !(how == "negated" && strings.Contains(changed, "not not")) {
					count(how, changed, 0)
				}
			}
		}
	}
	for how, bounds := range map[string][2]float64{
		"verbatim": {0.85, 1}, "of another passage": {0, 0.02}, "with another number": {0, 0.01}, "with another name": {0, 0.01}, "negated": {0, 0.05},
	} {
		share := float64(supported[how]) / float64(all[how])
		t.Logf("%s: %d of %d supported (%.3f)", how, supported[how], all[how], share)
		if all[how] < 100 || share < bounds[0] || share > bounds[1] {
			t.Errorf("%s: %.3f of %d are supported, want %v", how, share, all[how], bounds)
		}
	}
}
