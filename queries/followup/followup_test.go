package followup_test

import (
	"strings"
	"testing"

	"annals/queries/followup"
)

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		before []string
		asked  string
		want   string
	}{
		{nil, "And in Germany?", "And in Germany?"},
		{[]string{"How long is the notice period in France?"}, "And in Germany?", "How long is the notice period in Germany?"},
		{[]string{"How long is the notice period in France?"}, "What about Germany?", "How long is the notice period in Germany?"},
		{[]string{"How long is the notice period in France?", "And in Germany?"}, "what about in New Zealand", "How long is the notice period in New Zealand?"},
		{[]string{"How long is the notice period?"}, "And for suppliers?", "How long is the notice period for suppliers?"},
		{[]string{"How many tunnels were built in 1990?"}, "And in 1995?", "How many tunnels were built in 1995?"},
		{[]string{"Who finished the Eddystone lighthouse?"}, "When was it finished?", "When was it finished Eddystone lighthouse?"},
		{[]string{"Who finished the Eddystone lighthouse?", "When was it finished?"}, "How high is it?", "How high is it Eddystone lighthouse?"},
		{[]string{"What is the notice period?"}, "Why?", "Why notice period?"},
		{[]string{"What is the notice period?"}, "Who decided that?", "Who decided that notice period?"},
		{[]string{"What is the notice period?"}, "Who is the owner of the lighthouse?", "Who is the owner of the lighthouse?"},
		{[]string{"Why?"}, "And when?", "And when?"},
		{[]string{""}, "Why?", "Why?"},
	} {
		var before []followup.Turn
		for _, q := range test.before {
			before = append(before, followup.Turn{Question: q})
		}
		if got := followup.Resolve(test.asked, before); got != test.want {
			t.Errorf("Resolve(%q after %q) = %q, want %q", test.asked, test.before, got, test.want)
		}
	}
}

func TestResolveIsBounded(t *testing.T) {
	long := strings.Repeat("Germany ", 100_000)
	for _, turns := range [][]followup.Turn{{{Question: long}}, {{Question: "How long is the notice period in France?"}}} {
		for _, asked := range []string{"And in " + long, "Why?"} {
			if got := followup.Resolve(asked, turns); len(got) > 2000 {
				t.Errorf("Resolve(%.20q after %.20q) has %d bytes, want at most 2000", asked, turns[0].Question, len(got))
			}
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("How long is the notice period in France?", "And in Germany?")
	f.Add("Who finished the Eddystone lighthouse?", "When was it finished?")
	f.Add("A B", "and A")
	f.Add(strings.Repeat("Why ", 1000), "And it?")
	f.Fuzz(func(t *testing.T, before, asked string) {
		if got := followup.Resolve(asked, []followup.Turn{{Question: before}}); len(got) > max(len(asked), 2000) {
			t.Errorf("Resolve(%q after %q) has %d bytes", asked, before, len(got))
		}
	})
}
