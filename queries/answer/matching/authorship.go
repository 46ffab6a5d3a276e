package matching

import (
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/words"
)

// Words of questions about a document itself.
var (
	authorship  = words.Set("wrote written write writes author authors authored coauthor coauthors writer writers")
	publication = words.Set("published publish publication written wrote write posted dated issued date")
	works       = words.Set("paper report post blog article book document guide essay story page text study thesis memo letter note notes novel series tutorial manual handbook publication work entry")
)

// OfDocument reports whether the question asks for the authors of a document, or for its date, and
// returns the terms that name that document. described reports that the question calls it a
// document: "the report on …".
func (q *Question) OfDocument() (authors, date bool, named []int, described bool) {
	if q.Denied || q.Foreign {
		return false, false, nil, false
	}
	asking := map[int]bool{}
	for i := range q.Tokens {
		t := &q.Tokens[i]
		switch {
		case t.Term < 0:
		case authorship[t.Lower] && (q.Expected == Person || q.askedBy(i)):
			authors, asking[t.Term] = true, true
		case publication[t.Lower] && q.Expected == Time:
			date, asking[t.Term] = true, true
		case works[t.Lower]:
			described, asking[t.Term] = true, true
		case timeNouns[t.Lower] && q.Expected == Time, t.Lower == "name":
			asking[t.Term] = true
		}
	}
	for i := range q.Terms {
		if !asking[i] {
			named = append(named, i)
		}
	}
	return authors, date && !authors, named, described
}

// askedBy reports whether a question that does not begin with "who" asks for authors by its word i: "what
// are the authors of …", "by whom was … written".
func (q *Question) askedBy(i int) bool {
	at := q.questionWord()
	return at >= 0 && (q.Tokens[i].Term == q.Focus || q.Tokens[at].Lower == "whom" || q.Tokens[at].Lower == "what" && i-at <= 4 && slices.Contains([]string{"author", "authors", "writer"}, q.Tokens[i].Lower))
}

// Writes reports whether words say who wrote something, "Ann Berg wrote" or "written by", or when it was
// written or published, which takes a number.
func Writes(tokens []words.Token) bool {
	said, by, number := false, false, false
	for i := range tokens {
		t := &tokens[i]
		number = number || words.Number(t)
		switch t.Lower {
		case "wrote", "writes":
			by = by || i > 0 && tokens[i-1].Named
			said = true
		case "written", "authored", "published", "posted":
			by = by || i+1 < len(tokens) && tokens[i+1].Lower == "by"
			said = true
		case "author", "authors":
			by = true
		}
	}
	return by || said && number
}

// Credits returns the best credit of each term of the question in a text.
func (q *Question) Credits(text string) []float64 {
	credits := make([]float64, len(q.Terms))
	for _, t := range words.Tokenize(text, 0, len(text), nil) {
		q.Match(&t)
		raise(credits, &t)
	}
	return credits
}

// Precision returns the share of the words of a title, or of its part before a colon, that are in the
// question.
func (q *Question) Precision(title string) float64 {
	if main, _, ok := strings.Cut(title, ":"); ok && len(main) > 0 {
		return max(q.precision(main), q.precision(title))
	}
	return q.precision(title)
}

func (q *Question) precision(title string) float64 {
	found, all := 0.0, 0.0
	for _, t := range words.Tokenize(title, 0, len(title), nil) {
		if t.Class != prose.Content {
			continue
		}
		all++
		if q.Match(&t); t.Term >= 0 {
			found++
		}
	}
	if all == 0 {
		return 0
	}
	return found / all
}
