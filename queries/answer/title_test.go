package answer

import (
	"strings"
	"testing"
)

// fronts are passages that documents begin with, as a search gives them beside those that it found.
func fronts() []Passage {
	return []Passage{
		{ID: "1", Document: "Feeding horses in winter", Section: "Feeding horses in winter", Front: true, Text: "- by: Maria Lindqvist\n- date: 2014-07-29\n- summary: How the stable of Skane feeds horses."},
		{ID: "2", Document: "Fees of Depots: a Study of Harbour Goods", Section: "Fees of Depots: a Study of Harbour Goods", Front: true, Text: "Fees of Depots: a Study of Harbour Goods\n\nRuth Cohen†\n\nDecember 1, 2020\n\nAbstract\nWe study fees."},
		{ID: "3", Document: "Woods", Section: "Cover", Front: true, Text: "WOODS"},
		{ID: "3", Document: "Woods", Section: "BY CARL DORN", Front: true, Pages: [2]int{2, 2}, Text: "1854\n\n©Northern Reprints 2018"},
		{ID: "4", Document: "Rules of the parser project", Section: "Rules of the parser project", Front: true, Text: "Everybody may send changes."},
	}
}

func TestAuthorsAndDatesOfDocuments(t *testing.T) {
	found := []Passage{
		{ID: "1", Document: "Feeding horses in winter", Section: "Hay", Text: "A horse eats ten kilograms of hay. Peter Osei wrote to the stable that the hay of 2013 was wet.", Score: 9},
		{ID: "2", Document: "Fees of Depots: a Study of Harbour Goods", Section: "Fees", Text: "Fees of depots rose in 1999. The guide Leaving Aldmouth was written by Tom Ray in 1931.", Score: 8},
		{ID: "3", Document: "Woods", Section: "Winter", Text: "When I wrote these pages, I lived alone in the woods by Aldmouth Pond.", Score: 7},
		{ID: "4", Document: "Rules of the parser project", Section: "Review", Text: "Changes of the parser are reviewed by Lena Fuchs.", Score: 6},
	}
	for _, c := range []struct{ question, want, not string }{
		{"Who wrote the article on feeding horses?", "Maria Lindqvist", "Osei"},
		{"Who is the author of the post on how the stable of Skane feeds horses?", "Maria Lindqvist", ""},
		{"When was the article on feeding horses in winter written?", "2014-07-29", "2013"},
		{"Who wrote the study on harbour goods?", "Ruth Cohen", ""},
		{"Who are the authors of Fees of Depots?", "Ruth Cohen", ""},
		{"When was the study on the fees of depots published?", "December 1, 2020", "1999"},
		{"Who wrote Woods?", "CARL DORN", "Aldmouth"},
		{"When was Woods published?", "1854", "2018"},
		{"Who wrote Leaving Aldmouth?", "Tom Ray", "Cohen"},
		{"Who wrote the rules of the parser project?", "", "Everybody"},
		{"Who did not write Woods?", "", "DORN"},
		{"Who wrote Woods and Rivers of Norland?", "", "DORN"},
	} {
		got := Find(c.question, append(found[:len(found):len(found)], fronts()...))
		if !strings.Contains(got.Text, c.want) || c.not != "" && strings.Contains(got.Text, c.not) {
			t.Errorf("Find(%q) = %q (%.2f, %s), want %q and not %q", c.question, got.Text, got.Confidence, got.Reasoning, c.want, c.not)
		}
	}
	got := Find("When was Woods published?", append(found[:len(found):len(found)], fronts()...))
	if len(got.Used) != 1 || got.Used[0] != 7 || !strings.Contains(got.Reasoning, "page 2") {
		t.Errorf("got %+v, want the passage of the title page", got)
	}
}

// Documents with the same title are told together.
func TestAuthorsOfDocumentsWithEqualTitles(t *testing.T) {
	passages := []Passage{
		{ID: "1", Document: "Ward rules", Section: "Visits", Text: "Visits end at 7.", Score: 2},
		{ID: "2", Document: "Ward rules", Section: "Visits", Text: "Visits end at 8.", Score: 1},
		{ID: "1", Document: "Ward rules", Section: "Ward rules", Front: true, Text: "- by: Ann Ray\n- date: 2019-01-02"},
		{ID: "2", Document: "Ward rules", Section: "Ward rules", Front: true, Text: "- by: Tom Ray\n- date: 2023-01-02"},
	}
	const want = "Tom Ray (“Ward rules”, dated 2023-01-02)\nAnn Ray (“Ward rules”, dated 2019-01-02)"
	if got := Find("Who wrote the ward rules?", passages); got.Text != want {
		t.Errorf("got %q, want %q", got.Text, want)
	}
	const ends = "Visits end at 8. (“Ward rules”, dated 2023-01-02)\nVisits end at 7. (“Ward rules”, dated 2019-01-02)"
	if got := Find("When do visits end?", passages); got.Text != ends {
		t.Errorf("got %q, want %q", got.Text, ends)
	}
}
