package answer

import "testing"

func TestDefinitionsInOtherForms(t *testing.T) {
	for _, c := range []struct{ question, text, want string }{
		{"What is a huddle?", "Nurses meet at seven and at noon. Before each shift, the team talks for five minutes about its patients. This is also called a huddle. A huddle does not replace the round.",
			"Before each shift, the team talks for five minutes about its patients. This is also called a huddle."},
		{"What is dual control?", "The office must count the cash twice. This counting by two people is referred to as “dual control.” Dual control does not apply to coins.",
			"The office must count the cash twice. This counting by two people is referred to as “dual control.”"},
		{"What is PBX short for?", "The school has a PBX, which is an abbreviation for _private branch exchange_. The PBX was bought in 2001.", "The school has a PBX, which is an abbreviation for private branch exchange."},
		{"What is cross-docking?", "The goods are not stored, but _cross-docked_: they go from one lorry to the next. Many depots have doors for it.", "The goods are not stored, but cross-docked: they go from one lorry to the next."},
	} {
		got := Find(c.question, []Passage{{ID: "1", Document: "Handbook", Text: c.text, Score: 9}})
		if !got.Found || got.Text != c.want {
			t.Errorf("Find(%q) = %q (%.2f), want %q", c.question, got.Text, got.Confidence, c.want)
		}
	}
}
