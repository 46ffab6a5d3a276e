package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// versions are two passages of two documents, the first of which changed later.
func versions(titles, sections, texts [2]string) []Passage {
	var all []Passage
	for i := range texts {
		all = append(all, Passage{ID: []string{"a", "b"}[i], Changed: time.Date(2024-i, 3, 1, 12, 0, 0, 0, time.UTC), Document: titles[i], Section: sections[i], Score: 9 - float64(i), Text: texts[i], Opens: true})
	}
	return all
}

func TestDisagreementsAreToldNewestFirst(t *testing.T) {
	handbooks, leaving := [2]string{"Handbook 2024", "Handbook 2023"}, [2]string{"Leaving", "Leaving"}
	for _, c := range []struct {
		question         string
		titles, sections [2]string
		texts            [2]string
	}{
		{"How long is the notice period?", handbooks, leaving, [2]string{"The notice period is 6 weeks.", "The notice period is 4 weeks."}},
		{"Who approves the notice?", handbooks, leaving, [2]string{"The notice is approved by Ada Brun.", "The notice is approved by Karl Vestre."}},
		{"What is the notice period of a clerk?", handbooks, leaving, [2]string{"| Post | Notice period |\n|---|---|\n| Clerk | 6 weeks |\n", "| Post | Notice period |\n|---|---|\n| Clerk | 4 weeks |\n"}},
		{"When was the Harbour Bridge opened?", [2]string{"Guide", "History"}, [2]string{"Sights", "Works"}, [2]string{"The Harbour Bridge was opened in 1931.", "The Harbour Bridge was opened in 1932."}},
	} {
		passages := versions(c.titles, c.sections, c.texts)
		for range 2 {
			got := Find(c.question, passages)
			newest, oldest, ok := strings.Cut(got.Text, "\n")
			dates := [2]string{"changed on 2024-03-01", "changed on 2023-03-01"}
			if strings.Contains(c.titles[0], "2024") {
				dates = [2]string{"dated 2024", "dated 2023"}
			}
			if !ok || !strings.Contains(newest, c.titles[0]) || !strings.Contains(newest, dates[0]) || !strings.Contains(oldest, c.titles[1]) || !strings.Contains(oldest, dates[1]) {
				t.Errorf("Find(%q): got %q, want both with their dates, the newest first", c.question, got.Text)
			}
			if len(got.Used) != 2 || !strings.Contains(got.Reasoning, "Another document disagrees") {
				t.Errorf("Find(%q): got passages %v and reasoning %q", c.question, got.Used, got.Reasoning)
			}
			passages[0], passages[1] = passages[1], passages[0]
			passages[0].Score, passages[1].Score = 9, 8
		}
	}
}

// The date that a document gives itself decides, not that of its import.
func TestDocumentsSayTheirDates(t *testing.T) {
	texts := [2]string{"Date: 3 May 2021\n\nThe notice period is 4 weeks.", "Date: 1 March 2024\n\nThe notice period is 6 weeks."}
	passages := versions([2]string{"Notice", "Notice"}, [2]string{"", ""}, texts) // the older one was imported later
	const want = "The notice period is 6 weeks. (“Notice”, dated 2024-03-01)\nThe notice period is 4 weeks. (“Notice”, dated 2021-05-03)"
	if got := Find("How long is the notice period?", passages); got.Text != want {
		t.Errorf("got %q, want %q", got.Text, want)
	}
	if got := Find("How long was the notice period in 2021?", passages); !strings.Contains(got.Text, "4 weeks") || strings.Contains(got.Text, "6 weeks") {
		t.Errorf("got %q, want the period of 2021 alone", got.Text)
	}
	if got := Find("How long was the notice period in 2019?", passages); got.Found {
		t.Errorf("got %q (%.2f) for a year of no document", got.Text, got.Confidence)
	}
}

func TestDifferentThingsDoNotDisagree(t *testing.T) {
	for _, c := range []struct {
		question         string
		titles, sections [2]string
		texts            [2]string
	}{
		{"When was the lighthouse finished?", [2]string{"North", "South"}, [2]string{"Light", "Light"}, [2]string{"The lighthouse was finished in 1759.", "The lighthouse was finished in 1811."}},
		{"When was the lighthouse in the north finished?", [2]string{"Lights", "Lights"}, [2]string{"Light", "Light"}, [2]string{"The lighthouse in the north was finished in 1759.", "The lighthouse in the south was finished in 1811."}},
		{"What does room 12 cost?", [2]string{"Prices", "Prices"}, [2]string{"Rooms", "Rooms"}, [2]string{"Room 12 costs 40 crowns.", "Room 14 costs 50 crowns."}},
		{"When does the office open?", [2]string{"Hours", "Hours"}, [2]string{"Office", "Office"}, [2]string{"The office opens at 8 and closes at 5.", "The office opens at 9 and closes at 4."}},
		{"Are dogs allowed in the office?", [2]string{"Rules", "Rules"}, [2]string{"Office", "Office"}, [2]string{"Dogs are allowed in the office.", "Dogs are never allowed in the office."}},
	} {
		got := Find(c.question, versions(c.titles, c.sections, c.texts))
		if strings.Contains(got.Text, "changed on") || strings.Contains(got.Reasoning, "disagrees") {
			t.Errorf("Find(%q): got %q (%s), want no disagreement", c.question, got.Text, got.Reasoning)
		}
	}
}

func TestDisagreementsAreBounded(t *testing.T) {
	var passages []Passage
	for i := range 6 {
		passages = append(passages, Passage{ID: fmt.Sprint(i), Document: "Handbook", Section: "Leaving", Opens: true, Score: 9, Text: fmt.Sprintf("The notice period is %d weeks.", 2+i)})
	}
	got := Find("How long is the notice period?", passages)
	if n := strings.Count(got.Text, "\n") + 1; n != maxVersions {
		t.Errorf("got %d statements, want %d: %s", n, maxVersions, got.Text)
	}
}
