package matching

import "testing"

func TestDefinition(t *testing.T) {
	for _, c := range []struct {
		question, text string
		atLeast, most  float64
	}{
		{"What is a reserve lot?", "Central to the auction is a reserve lot, which plays the role of a limit.", 0.7, 0.8},
		{"What is PBX short for?", "The school has a PBX, which is an abbreviation for private branch exchange.", 0.9, 1},
		{"What is dual control?", "This counting is referred to as dual control by auditors.", 0.8, 0.8},
		{"What is a lease?", "A lease lets a node work alone.", 0.6, 0.6},
		{"What is a huddle?", "Teams hold a _huddle_ before each shift.", 0.7, 0.7},
		{"What is a huddle?", "Teams hold a huddle before each shift.", 0, 0},
		{"What is a reserve lot?", "Bids below the reserve lot, which nobody liked, were refused.", 0, 0},
		{"What is dual control?", "The clerk referred to dual control.", 0, 0},
	} {
		q := ParseQuestion(c.question)
		p := Parse(&q, Passage{Text: c.text})
		u := AppendUnits(nil, 0, &p)
		if got := q.Definition(&p, &u[0]); got < c.atLeast || got > c.most {
			t.Errorf("Definition(%q, %q) = %.2f, want %.1f to %.1f", c.question, c.text, got, c.atLeast, c.most)
		}
	}
}
