package answer

import (
	"bufio"
	"cmp"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"annals/queries/answer/words"
)

// offices returns the passages of short documents in which similar things are said of
// different people and things: policies, rules, contacts, lists of steps.
func offices(t *testing.T) []Passage {
	t.Helper()
	text, err := os.ReadFile("testdata/offices/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []Passage
	for _, document := range strings.Split(string(text), "=== ")[1:] {
		title, rest, _ := strings.Cut(document, "\n")
		for _, section := range strings.Split("\n"+rest, "\n## ") {
			heading, body, _ := strings.Cut(section, "\n")
			if body = strings.TrimSpace(body); body != "" {
				all = append(all, Passage{ID: title, Document: title, Section: cmp.Or(heading, title), Path: []string{title}, Text: body, Opens: true})
			}
		}
	}
	return all
}

// search returns the passages that have words of a question, best first, with scores like
// those of a search.
func search(question string, passages []Passage) []Passage {
	stems := func(text string) map[string]bool {
		m := map[string]bool{}
		for _, t := range words.Tokenize(text, 0, len(text), nil) {
			m[words.Stem(t.Lower)] = true
		}
		return m
	}
	counts, has := map[string]float64{}, make([]map[string]bool, len(passages))
	for i, p := range passages {
		has[i] = stems(p.Document + "\n" + p.Section + "\n" + p.Text)
		for s := range has[i] {
			counts[s]++
		}
	}
	var found []Passage
	for i, p := range passages {
		for s := range stems(question) {
			if has[i][s] {
				p.Score += math.Log(float64(len(passages)) / counts[s])
			}
		}
		if p.Score > 0 {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b Passage) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(len(found), 20)]
}

// What is said of one thing is no answer to the same question of another one.
func TestAnswersOfWhatIsAsked(t *testing.T) {
	passages := offices(t)
	file, err := os.Open("testdata/offices/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		part := strings.Split(lines.Text(), "|")
		question, want, not := part[0], strings.ReplaceAll(part[1], `\n`, "\n"), part[2]
		n++
		got := Find(question, search(question, passages))
		switch {
		case want == "-" && got.Found, want != "-" && !(got.Found && strings.Contains(got.Text, want)), not != "" && strings.Contains(got.Text, not):
			t.Errorf("%s: got %q (%.2f), want %q and not %q", question, got.Text, got.Confidence, want, not)
		}
	}
	if n < 60 {
		t.Errorf("%d questions, want at least 60", n)
	}
}
