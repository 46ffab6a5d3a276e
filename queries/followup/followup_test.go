package followup_test

import (
	"strings"
	"testing"

	"annals/queries/followup"
)

const hangar = "When was the airship hangar at Cardington finished?"

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		before []string
		asked  string
		want   string // the text
		about  string
		own    string // "" means the text
	}{
		{nil, "And in Germany?", "And in Germany?", "", ""},
		{[]string{"How long is the notice period in France?"}, "And in Germany?", "How long is the notice period in Germany?", "in Germany", ""},
		{[]string{"How long is the notice period in France?"}, "What about Germany?", "How long is the notice period in Germany?", "Germany", ""},
		{[]string{"How long is the notice period in France?", "And in Germany?"}, "what about in New Zealand", "How long is the notice period in New Zealand?", "in New Zealand", ""},
		{[]string{"How long is the notice period?"}, "And for suppliers?", "How long is the notice period for suppliers?", "for suppliers", ""},
		{[]string{"How many tunnels were built in 1990?"}, "And in 1995?", "How many tunnels were built in 1995?", "in 1995", ""},
		{[]string{"Who finished the Eddystone lighthouse?"}, "When was it finished?", "When was the Eddystone lighthouse finished?", "the Eddystone lighthouse", ""},
		{[]string{"Who finished the Eddystone lighthouse?", "When was it finished?"}, "How high is it?", "How high is the Eddystone lighthouse?", "the Eddystone lighthouse", ""},
		{[]string{"What is the height of the Eddystone lighthouse?"}, "Who finished it?", "Who finished the Eddystone lighthouse?", "the Eddystone lighthouse", ""},
		{[]string{"What is the notice period?"}, "Why?", "Why is the notice period?", "the notice period", ""},
		{[]string{"What is the notice period?"}, "Who decided that?", "Who decided the notice period?", "the notice period", ""},
		{[]string{"What is the notice period?"}, "Who is the owner of the lighthouse?", "Who is the owner of the lighthouse?", "", ""},
		{[]string{"Why?"}, "And when?", "And when?", "", ""},
		{[]string{""}, "Why?", "Why?", "", ""},

		{[]string{hangar}, "How long is it?", "How long is the airship hangar at Cardington?", "the airship hangar at Cardington", ""},
		{[]string{hangar, "How long is it?"}, "Who owns it?", "Who owns the airship hangar at Cardington?", "the airship hangar at Cardington", ""},
		{[]string{hangar}, "What is its length?", "What is the length of the airship hangar at Cardington?", "the airship hangar at Cardington", ""},
		{[]string{hangar}, "What is its former length?", "What is the former length of the airship hangar at Cardington?", "the airship hangar at Cardington", ""},
		{[]string{hangar}, "What is made there?", "What is made at the airship hangar at Cardington?", "the airship hangar at Cardington", ""},
		{[]string{hangar}, "By whom?", "By whom was the airship hangar at Cardington finished?", "the airship hangar at Cardington", ""},
		{[]string{hangar}, "How high is this tower?", "How high is this tower the airship hangar at Cardington?", "the airship hangar at Cardington", "How high is this tower?"},
		{[]string{hangar}, "And how much is the entry?", "how much is the entry of the airship hangar at Cardington?", "the airship hangar at Cardington", "how much is the entry?"},
		{[]string{hangar, "And how much is the entry?"}, "Who owns it?", "Who owns the airship hangar at Cardington?", "the airship hangar at Cardington", ""},
		{[]string{hangar}, "What about the lighthouse?", "When was the lighthouse finished?", "the lighthouse", ""},
		{[]string{hangar, "What about the lighthouse?"}, "How high is it?", "How high is the lighthouse?", "the lighthouse", ""},
		{[]string{hangar}, "And at Friedrichshafen?", "When was the airship hangar at Friedrichshafen finished?", "at Friedrichshafen", ""},
		{[]string{hangar}, "And who is the owner of Eddystone?", "And who is the owner of Eddystone?", "", ""},
		{[]string{"Does the museum in Leeds open on Sundays?"}, "How far is it?", "How far is the museum in Leeds?", "the museum in Leeds", ""},
		{[]string{"How do I install Rust on Linux?"}, "Where is it kept?", "Where is Rust on Linux kept?", "Rust on Linux", ""},
		{[]string{"When does the airport bus stop at Leeds?"}, "How much does it cost?", "How much does the airport bus cost?", "the airport bus", ""},
		{[]string{"Who was the director of the museum?"}, "When was it closed?", "When was the museum closed?", "the museum", ""},
	} {
		var before []followup.Turn
		for _, q := range test.before {
			before = append(before, followup.Turn{Question: q})
		}
		got := followup.Resolve(test.asked, before)
		if test.own == "" {
			test.own = test.want
		}
		if got.Text != test.want || got.About != test.about || got.Own != test.own {
			t.Errorf("Resolve(%q after %q) = %+v, want %q about %q, itself %q", test.asked, test.before, got, test.want, test.about, test.own)
		}
	}
}

func TestResolveIsBounded(t *testing.T) {
	long := strings.Repeat("Germany ", 100_000)
	for _, turns := range [][]followup.Turn{{{Question: long}}, {{Question: "How long is the notice period in France?"}}} {
		for _, asked := range []string{"And in " + long, "Why?"} {
			if got := followup.Resolve(asked, turns); max(len(got.Text), len(got.Own), len(got.About)) > 2000 {
				t.Errorf("Resolve(%.20q after %.20q) has %d bytes, want at most 2000", asked, turns[0].Question, len(got.Text))
			}
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("How long is the notice period in France?", "And in Germany?")
	f.Add("Who finished the Eddystone lighthouse?", "When was it finished?")
	f.Add("Who finished it?", "And her its?")
	f.Add("A B", "and A")
	f.Add("When was the hangar finished?", "Who is its former owner, and their latter one?")
	f.Add(strings.Repeat("Why ", 1000), "And it?")
	f.Add("is of the a", "what about of")
	f.Fuzz(func(t *testing.T, before, asked string) {
		got := followup.Resolve(asked, []followup.Turn{{Question: before}, {Question: asked}})
		for _, text := range []string{got.Text, got.Own, got.About} {
			if len(text) > max(len(asked), 2000) {
				t.Errorf("Resolve(%q after %q) has %d bytes", asked, before, len(text))
			}
		}
	})
}
