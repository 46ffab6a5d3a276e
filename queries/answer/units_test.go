package answer

import (
	"testing"
)

func TestRowTextHasHeaders(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"| A | B |\n|---|---|\n| 1 | 2 |", "A: 1; B: 2"},
		{"A | B\n--|--\n1 |", "A: 1"},
		{"| A |\n|---|\n| 1 | x\\|y |", "A: 1; x\\|y"},
		{"| 1 | 2 |", "1; 2"},
	} {
		q := parseQuestion("What?")
		p := newPassage(&q, Passage{Text: c.text})
		units := appendUnits(nil, 0, &p)
		if got := p.rowText(&q, &units[len(units)-1]); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestRowTextHasOnlyTheColumnsAskedFor(t *testing.T) {
	for question, want := range map[string]string{
		"What is the load factor to Guam?": "Route: Guam; Load factor: 85.3",
		"How heavy was the load to Guam?":  "Route: Guam; Load factor: 85.3; Seats: 39,239",
	} {
		q := parseQuestion(question)
		p := newPassage(&q, Passage{Text: "| Route | Load factor | Seats |\n|---|---|---|\n| Guam | 85.3 | 39,239 |"})
		units := appendUnits(nil, 0, &p)
		if got := p.rowText(&q, &units[0]); got != want {
			t.Errorf("%s: got %q, want %q", question, got, want)
		}
	}
}

// A PDF reader writes the header of a table as several rows, of which the first is the
// header in Markdown.
func TestHeaderOfSeveralRows(t *testing.T) {
	q := parseQuestion("How many passengers flew to Guam?")
	p := newPassage(&q, Passage{Text: "| | | Dec-2015 |\n|---|---|---|\n| | Routes | Passengers |\n| | Guam | 13,156 |"})
	units := appendUnits(nil, 0, &p)
	if got, want := p.rowText(&q, &units[0]), "Routes: Guam; Passengers: 13,156"; len(units) != 1 || got != want {
		t.Errorf("got %q in %d units, want %q in one", got, len(units), want)
	}
}

func TestTableCutBetweenRowsHasItsHeader(t *testing.T) {
	passages := []Passage{
		{Document: "D", Section: "Routes", Text: "| Guam | 85.3 |\n| Korea | 79.9 |"},
		{Document: "D", Section: "Other", Text: "| A | B |\n|---|---|\n| 1 | 2 |"},
		{Document: "D", Section: "Routes", Text: "Our routes:\n\n| Route | Load factor |\n|---|---|\n| Europe | 62.0 |"},
	}
	if got := Find("What is the load factor to Korea?", passages); got.Text != "Route: Korea; Load factor: 79.9" {
		t.Errorf("got %q (%.2f)", got.Text, got.Confidence)
	}
	if got := tableHead(passages, 2); got != "" {
		t.Errorf("got the header %q for a passage with its own header", got)
	}
}

func TestQuestionClassification(t *testing.T) {
	for _, c := range []struct {
		question string
		want     answerKind
		focus    string
		subject  bool
	}{
		{"Who built it?", aPerson, "", true},
		{"When did it open?", aTime, "", false},
		{"In what year was it built?", aTime, "year", false},
		{"Which river flows there?", aPlace, "river", true},
		{"How many ships sailed?", aNumber, "ships", true},
		{"How did it end?", anything, "", false},
		{"Why was it shut?", aReason, "", false},
		{"What type of fish is it?", anything, "fish", false},
		{"When they met in Rome, who was the host?", aPerson, "", false},
		{"What South African consul did they meet?", anything, "consul", false},
		{"What president of the university reformed it?", aPerson, "president", true},
		{"They were stronger when compared to whom?", aPerson, "", true},
		{"What is a crate?", aDefinition, "", false},
		{"What does RPK stand for in the tables?", aDefinition, "", false},
		{"What is meant by ownership in Rust?", aDefinition, "", false},
		{"What is the dog looking at?", anything, "", false},
		{"What is the capital of Norland?", aPlace, "", false},
		{"What is the FUTA tax rate?", aNumber, "", false},
		{"Can bicycles cross the bridge?", aDecision, "", false},
		{"How do I install it?", aManner, "", false},
		{"How can a module be published?", aManner, "", false},
		{"Which steps are needed?", aList, "steps", false},
		{"What is the phone number of the office?", aPhone, "", false},
		{"Which number do I call?", aPhone, "number", false},
		{"What is the email address of the office?", anAddress, "", false},
	} {
		q := parseQuestion(c.question)
		focus := ""
		if q.focus >= 0 {
			focus = q.terms[q.focus].word
		}
		if q.expected != c.want || focus != c.focus || q.subject != c.subject {
			t.Errorf("%q: got kind %d, focus %q, subject %v; want %d, %q, %v", c.question, q.expected, focus, q.subject, c.want, c.focus, c.subject)
		}
	}
}
