package search_test

import (
	"strings"
	"testing"

	"annals/events"
	"annals/queries/followup"
	"annals/queries/queriestest"
	"annals/queries/search"

	"github.com/google/uuid"
)

func TestAskAboutOneDocument(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	north := f.AddDocument(top, "north.md", nil, "The lighthouse in the north was finished in 1759 by John Smeaton.")
	south := f.AddDocument(top, "south.md", nil, "The lighthouse in the south was finished in 1811 by Robert Stevenson.")
	f.Settle()
	for id, want := range map[uuid.UUID]string{north: "Smeaton", south: "Stevenson"} {
		q := search.Query{Query: "Who finished the lighthouse?", Document: id}
		if a, err := f.search.Ask(t.Context(), alice, search.Question{Search: q}); err != nil || !strings.Contains(a.Text, want) {
			t.Errorf("Ask(alice, %s) = %+v, %v, want %s", id, a, err, want)
		} else if len(a.Sources) != 1 || a.Sources[0].Document != id || !strings.Contains(a.Sources[0].Text, want) || a.Sources[0].DeepLink == "" {
			t.Errorf("Ask(alice, %s): got sources %+v", id, a.Sources)
		}
		if a, err := f.search.Ask(t.Context(), bob, search.Question{Search: q}); err != nil || a.Confidence >= 0.3 || strings.Contains(a.Text, want) || len(a.Sources) > 0 {
			t.Errorf("Ask(bob, %s) = %+v, %v, want no answer", id, a, err)
		}
	}
}

// A follow-up question is answered, and not the one before it again.
func TestAskFollowUps(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.AddDocument(top, "hangar.md", nil, "# Hangar rules\n\nThe airship hangar at Cardington was finished in 1917. It is 247 metres long and belongs to the council.\n\nVisitors must not smoke in the hangar. Entry costs 12 euros for adults.")
	f.AddDocument(top, "notes.md", nil, "# Hangar notes\n\nThe airship hangar at Friedrichshafen burned in 1944. The hangar was sold to Bob for 999 dollars.")
	f.AddDocument(top, "mill.md", nil, "# The mill\n\nThe mill at Ely was finished in 1811 by Robert Stevenson. Entry costs 3 euros. It is 20 metres high.")
	f.Settle()
	turn := followup.Turn{Question: "When was the airship hangar at Cardington finished?", Answer: "In 1917."}
	f.AddDocument(top, "supply.md", nil, "# Supply\n\nThe notice period is three months. The seat of the supplier is Leeds.")
	f.Settle()
	notice := followup.Turn{Question: "What is the notice period?"}
	for _, test := range []struct{ asked, want, not string }{
		{turn.Question, "1917", ""},
		{"How long is it?", "247 metres", "1917"},
		{"And how much is the entry?", "12 euros", "1917"},
		{"What about the mill?", "1811", "1917"},
		{"What about the lighthouse?", "", ""},
		{"And at Friedrichshafen?", "", ""},
		{"Who owns it?", "", ""},
		{"And how long is it?", "three months", ""},
		{"May visitors smoke there?", "must not smoke", ""},
	} {
		history := []followup.Turn{turn}
		if test.want == "three months" {
			history = append(history, notice)
		}
		q := search.Question{Search: search.Query{Query: test.asked}, History: history}
		a, err := f.search.Ask(t.Context(), alice, q)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.2f %q", test.asked, a.Confidence, a.Text)
		if abstains := a.Confidence < 0.3; test.want == "" && !abstains || test.want != "" && (abstains || !strings.Contains(a.Text, test.want)) || test.not != "" && strings.Contains(a.Text, test.not) {
			t.Errorf("%q is answered by %q (%.2f), want %q, without %q", test.asked, a.Text, a.Confidence, test.want, test.not)
		}
	}
}

// The front matter and the title of a document answer who wrote it and when, although the search finds other
// passages of it.
func TestAskWhoWroteDocument(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	notes := f.Import(events.DocumentImported{Folder: top, Name: "hay.md", Content: events.Content{
		SHA256: queriestest.SHA256, Size: 10, MediaType: "text/markdown", Title: "Feeding horses", Description: "About horses.",
	}}, events.SectionExtracted{Text: "- by: Maria Lindqvist\n- date: 2014-07-29"},
		events.SectionExtracted{Level: 1, Title: "Rations", Path: []string{"Rations"}, Text: "A horse eats ten kilograms of hay a day. Feeding takes an hour."})
	f.Settle()
	for _, c := range []struct{ asked, want string }{{"Who wrote Feeding horses?", "Maria Lindqvist"}, {"When was Feeding horses written?", "2014-07-29"}} {
		q := search.Question{Search: search.Query{Query: c.asked}}
		a, err := f.search.Ask(t.Context(), alice, q)
		if err != nil || a.Text != c.want || len(a.Sources) != 1 || a.Sources[0].Document != notes || !strings.Contains(a.Sources[0].Text, c.want) || a.Sources[0].Owner == "" {
			t.Errorf("Ask(alice, %s) = %+v, %v, want %s", c.asked, a, err, c.want)
		}
		if a, err := f.search.Ask(t.Context(), bob, q); err != nil || a.Confidence >= 0.3 || len(a.Sources) > 0 {
			t.Errorf("Ask(bob, %s) = %+v, %v, want no answer", c.asked, a, err)
		}
	}
}
