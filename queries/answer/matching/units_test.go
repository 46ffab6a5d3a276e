package matching

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
		q := ParseQuestion("What?")
		p := Parse(&q, Passage{Text: c.text})
		units := AppendUnits(nil, 0, &p)
		if got := p.RowText(&q, &units[len(units)-1]); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestRowTextHasOnlyTheColumnsAskedFor(t *testing.T) {
	for question, want := range map[string]string{
		"What is the load factor to Guam?": "Route: Guam; Load factor: 85.3",
		"How heavy was the load to Guam?":  "Route: Guam; Load factor: 85.3; Seats: 39,239",
	} {
		q := ParseQuestion(question)
		p := Parse(&q, Passage{Text: "| Route | Load factor | Seats |\n|---|---|---|\n| Guam | 85.3 | 39,239 |"})
		units := AppendUnits(nil, 0, &p)
		if got := p.RowText(&q, &units[0]); got != want {
			t.Errorf("%s: got %q, want %q", question, got, want)
		}
	}
}

// A PDF reader writes the header of a table as several rows, of which the first is the
// header in Markdown.
func TestHeaderOfSeveralRows(t *testing.T) {
	q := ParseQuestion("How many passengers flew to Guam?")
	p := Parse(&q, Passage{Text: "| | | Dec-2015 |\n|---|---|---|\n| | Routes | Passengers |\n| | Guam | 13,156 |"})
	units := AppendUnits(nil, 0, &p)
	if got, want := p.RowText(&q, &units[0]), "Routes: Guam; Passengers: 13,156"; len(units) != 1 || got != want {
		t.Errorf("got %q in %d units, want %q in one", got, len(units), want)
	}
}

func TestQuestionClassification(t *testing.T) {
	for _, c := range []struct {
		question string
		want     Kind
		focus    string
		subject  bool
	}{
		{"Who built it?", Person, "", true},
		{"When did it open?", Time, "", false},
		{"In what year was it built?", Time, "year", false},
		{"Which river flows there?", Place, "river", true},
		{"How many ships sailed?", Number, "ships", true},
		{"How did it end?", Anything, "", false},
		{"Why was it shut?", Reason, "", false},
		{"What type of fish is it?", Anything, "fish", false},
		{"When they met in Rome, who was the host?", Person, "", false},
		{"What South African consul did they meet?", Anything, "consul", false},
		{"What president of the university reformed it?", Person, "president", true},
		{"They were stronger when compared to whom?", Person, "", true},
		{"What is a crate?", Definition, "", false},
		{"What does RPK stand for in the tables?", Definition, "", false},
		{"What is meant by ownership in Rust?", Definition, "", false},
		{"What is the dog looking at?", Anything, "", false},
		{"What is the capital of Norland?", Place, "", false},
		{"What is the FUTA tax rate?", Number, "", false},
		{"Can bicycles cross the bridge?", Decision, "", false},
		{"How do I install it?", Manner, "", false},
		{"How can a module be published?", Manner, "", false},
		{"Which steps are needed?", List, "steps", false},
		{"What is the phone number of the office?", Phone, "", false},
		{"Which number do I call?", Phone, "number", false},
		{"What is the email address of the office?", Address, "", false},
	} {
		q := ParseQuestion(c.question)
		focus := ""
		if q.Focus >= 0 {
			focus = q.Terms[q.Focus].Word
		}
		if q.Expected != c.want || focus != c.focus || q.Subject != c.subject {
			t.Errorf("%q: got kind %d, focus %q, subject %v; want %d, %q, %v", c.question, q.Expected, focus, q.Subject, c.want, c.focus, c.subject)
		}
	}
}
