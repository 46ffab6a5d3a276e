package support_test

import (
	"regexp"
	"strings"
	"testing"

	"annals/events/prose"
	"annals/queries/answer/answertest"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
	"annals/queries/answer/support"
)

var (
	number   = regexp.MustCompile(`\b\d[\d,.]*\b`)
	name     = regexp.MustCompile(` [A-Z][a-z]{4,}`)
	verb     = regexp.MustCompile(` (is|was|are|were) `)
	noun     = regexp.MustCompile(` (of|for|by|with|from|to|in|at|on) ((?:the|a|an) )?[a-z]{5,}([.,;]| (?:and|or|of|in|for|that|which|who|was|is|were|are) )`)
	fronted  = regexp.MustCompile(`^(In|On|At|By|After|During|Since|From) ([^,]{3,60}), ([^.;:]+)\.$`)
	middle   = regexp.MustCompile(`, [^,;:()]{3,80},( (?:is|was|are|were|has|had|have|can|may|became|will) )`)
	trailing = regexp.MustCompile(`, (?:which|who|where|while|although|though|because|with|including|such as) [^;:]*\.$`)
	apart    = regexp.MustCompile(`^ [a-z].* [a-z]+ ?$`) // what stands between two names or numbers
	joint    = regexp.MustCompile(` (?:is|was|are|were|has|had|have|became|in|of|by|for|with|from) `)
)

// lower puts a letter in lower case unless it begins a name.
func lower(sentence string) string {
	for _, word := range []string{"The ", "A ", "An ", "It ", "This ", "These ", "They ", "He ", "She "} {
		if strings.HasPrefix(sentence, word) {
			return strings.ToLower(sentence[:1]) + sentence[1:]
		}
	}
	return sentence
}

// swapped returns a sentence with the first two different matches of a pattern exchanged that are not in one name or list.
func swapped(sentence string, pattern *regexp.Regexp) string {
	all := pattern.FindAllStringIndex(sentence, -1)
	for k := 1; k < len(all); k++ {
		a, b := all[0], all[k]
		if one, other := sentence[a[0]:a[1]], sentence[b[0]:b[1]]; one != other && apart.MatchString(sentence[a[1]:b[0]]) {
			return sentence[:a[0]] + other + sentence[a[1]:b[0]] + one + sentence[b[1]:]
		}
	}
	return sentence
}

// mixed returns the beginning of one sentence with the end of another, or "".
func mixed(one, other string) string {
	a, b := joint.FindStringIndex(one), joint.FindAllStringIndex(other, -1)
	if a == nil || len(b) == 0 || a[0] < 8 {
		return ""
	}
	for _, at := range b {
		if one[a[0]:a[1]] == other[at[0]:at[1]] {
			return one[:a[0]] + other[at[0]:]
		}
	}
	return ""
}

func sentencesOf(p matching.Passage) (all []string) {
	for start := 0; start < len(p.Text); {
		end := prose.SentenceEnd(p.Text, start, len(p.Text))
		one := strings.TrimSpace(p.Text[start:end])
		start = end
		if len(one) >= 20 && len(one) <= 300 && markdown.Plain(one) == one {
			all = append(all, one)
		}
	}
	return all
}

// Sentences of articles are supported by the passage that they are from, also in other orders, and neither by
// another one nor with another number, name or noun, nor negated, nor with swapped roles.
func TestSupportsSentencesOfArticles(t *testing.T) {
	supported, all := map[string]int{}, map[string]int{}
	for i, q := range answertest.Corpus(t) {
		if i%10 != 0 || !q.Answerable || len(q.Passages) < 2 {
			continue
		}
		text := q.Passages[0].Text
		anything, asked := support.New("", q.Passages[:2]), support.New(q.Question, q.Passages[:2])
		count := func(how string, s *support.Checker, sentence string, cited ...int) {
			all[how]++
			if s.Supports(sentence, cited) {
				supported[how]++
				if testing.Verbose() && how != "verbatim" && how != "answers" && how != "rest" {
					t.Logf("%s: %s", how, sentence)
				}
			} else if testing.Verbose() && (how == "answers" || how == "verbatim" || strings.HasPrefix(how, "true")) {
				t.Logf("not %s: %s (%s)", how, sentence, q.Question)
			}
		}
		others := sentencesOf(q.Passages[1])
		previous := ""
		for _, one := range sentencesOf(q.Passages[0]) {
			count("verbatim", anything, one, 0)
			how := "rest"
			for _, a := range q.Answers {
				if strings.Contains(one, a) {
					how = "answers"
				}
			}
			count(how, asked, one, 0)
			if !strings.Contains(q.Passages[1].Text, one) {
				count("of another passage", anything, one, 1)
			}
			for how, changed := range map[string]string{
				"true: moved": fronted.ReplaceAllStringFunc(one, func(s string) string {
					m := fronted.FindStringSubmatch(s)
					return strings.ToUpper(m[3][:1]) + m[3][1:] + " " + strings.ToLower(m[1]) + " " + m[2] + "."
				}),
				"true: shorter":             middle.ReplaceAllString(one, "$1"),
				"true: part":                trailing.ReplaceAllString(one, "."),
				"true: attributed":          "According to the passage, " + lower(one),
				"with another number":       number.ReplaceAllString(one, "7$0"),
				"with another name":         name.ReplaceAllString(one, " Zanzibar"),
				"with another noun":         noun.ReplaceAllString(one, " $1 ${2}harpsichords$3"),
				"negated":                   verb.ReplaceAllString(one, " $1 not "),
				"names swapped":             swapped(one, name),
				"numbers swapped":           swapped(one, number),
				"mixed with the one before": mixed(previous, one),
			} {
				if changed != "" && changed != one && !(how == "negated" && strings.Contains(changed, "not not")) && !strings.Contains(text, changed) {
					count(how, anything, changed, 0)
				}
			}
			for _, other := range others {
				if m := mixed(one, other); m != "" && !strings.Contains(q.Passages[1].Text, m) && !strings.Contains(text, m) {
					count("mixed with another passage", anything, m, 0, 1)
					break
				}
			}
			previous = one
		}
	}
	for how, bounds := range map[string][2]float64{
		"verbatim": {0.97, 1}, "answers": {0.9, 1}, "rest": {0, 1}, "true: moved": {0.9, 1}, "true: shorter": {0.9, 1}, "true: part": {0.9, 1}, "true: attributed": {0.9, 1},
		"of another passage": {0, 0.02}, "with another number": {0, 0.01}, "with another name": {0, 0.01}, "with another noun": {0, 0.01}, "negated": {0, 0.05},
		"names swapped": {0, 0.35}, "numbers swapped": {0, 0.15}, "mixed with the one before": {0, 0.65}, "mixed with another passage": {0, 0.2},
	} {
		share := float64(supported[how]) / float64(all[how])
		t.Logf("%s: %d of %d supported (%.3f)", how, supported[how], all[how], share)
		if all[how] < 15 || share < bounds[0] || share > bounds[1] {
			t.Errorf("%s: %.3f of %d are supported, want %v", how, share, all[how], bounds)
		}
	}
}
