package answer

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode"

	"annals/queries/answer/answertest"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
)

// library has passages of each form: prose, a table, a list and code.
var library = []Passage{
	{Document: "Bridges of Norland", Section: "The Harbour Bridge", Path: []string{"Bridges of Norland"}, Pages: [2]int{12, 13}, Score: 9, Text: "The Harbour Bridge was designed by Ingrid Solheim and built by the Vestre company. " +
		"It was opened on 14 June 1931, after six years of work. About 4,200 workers took part in its construction. " +
		"Because the river bed is soft clay, its pillars were sunk forty metres deep. The bridge stands in Aldmouth, near the old fish market."},
	{Document: "Bridges of Norland", Section: "Tolls", Pages: [2]int{20, 20}, Score: 6, Text: "Tolls are collected by the harbour office.\n\n| Vehicle | Toll | Discount |\n|---|---|---|\n| Bicycle | free | none |\n| Motorcycle | 3 crowns | 10 % |\n| Lorry | 25 crowns | none |\n"},
	{Document: "Bridges of Norland", Section: "Upkeep", Score: 4, Text: "The following work is done on the bridge every spring:\n\n- painting of the railings in grey\n- grease on the bearings\n- a check of every cable by divers\n\nInstall the sensor program with:\n\n```\nbridgectl install --sensor strain\n```\n"},
}

func TestAnswersByQuestionType(t *testing.T) {
	for _, c := range []struct{ question, want string }{
		{"Who designed the Harbour Bridge?", "Ingrid Solheim"},
		{"When was the Harbour Bridge opened?", "14 June 1931"},
		{"How many workers took part in the construction of the bridge?", "4,200"},
		{"Where does the Harbour Bridge stand?", "Aldmouth"},
		{"Why were the pillars of the bridge sunk so deep?", "the river bed is soft clay"},
		{"Which company built the Harbour Bridge?", "Vestre"},
		{"What is the toll for a lorry?", "Vehicle: Lorry; Toll: 25 crowns"},
		{"Which toll does a motorcycle pay?", "Toll: 3 crowns"},
		{"Which work on the cables is done by divers?", "check of every cable"},
		{"How do you install the sensor program?", "bridgectl install"},
		{"WHO DESIGNED THE HARBOUR BRIDGE", "Ingrid Solheim"},
	} {
		got := Find(c.question, library)
		if !got.Found || !strings.Contains(got.Text, c.want) {
			t.Errorf("Find(%q): got %q (%.2f, %s), want %q in it", c.question, got.Text, got.Confidence, got.Reasoning, c.want)
		}
	}
}

func TestCopiesOfPassageDoNotLowerConfidence(t *testing.T) {
	one := library[:1]
	const question = "Who designed the Harbour Bridge?"
	alone, copied := Find(question, one), Find(question, slices.Repeat(one, 10))
	if copied.Text != alone.Text || copied.Confidence < alone.Confidence-0.1 {
		t.Errorf("got %+v with ten copies, %+v with one", copied, alone)
	}
}

func TestPronounRefersToSentenceBefore(t *testing.T) {
	passages := []Passage{{Document: "Lives", Section: "Ada Brun", Score: 5, Text: "Ada Brun was a chemist from Skane. She discovered brunite in 1902. Her brother Karl painted ships."}}
	got := Find("When did Ada Brun discover brunite?", passages)
	if !strings.Contains(got.Text, "1902") {
		t.Errorf("got %q, want 1902 in it", got.Text)
	}
}

// handbook has texts as people ask about them: definitions, steps, rows and lists.
var handbook = []Passage{
	{Document: "Harbour handbook", Section: "What is a fender?", Opens: true, Score: 9, Text: "A _fender_ is a cushion that hangs between a ship and the quay. Every ship must have four fenders."},
	{Document: "Harbour handbook", Section: "Words", Score: 8, Text: "ETA = estimated time of arrival\n\nA small boat that carries people to a ship is called a tender. The tender is moored at pier 4."},
	{Document: "Harbour handbook", Section: "Mooring a ship", Opens: true, Score: 7, Text: "To moor a ship, do the following:\n\n1. Hang out the [fenders](/words#fender).\n2. Throw the bow line.\n3. Make fast the **stern** line.\n\nThe crew then reports to the office."},
	{Document: "Harbour handbook", Section: "Why are night landings forbidden?", Opens: true, Score: 6, Text: "Most accidents happened in the dark. The lamps of the pier were sold in 1954. A permit costs 40 crowns."},
	{Document: "Harbour handbook", Section: "Offices", Score: 5, Text: "| Office | Phone | Room |\n|---|---|---|\n| Customs | 555 0134 | 12 |\n| Pilots | 555 0178 | 14 |\n"},
}

func TestAnswersQuestionsOfPeople(t *testing.T) {
	for _, c := range []struct{ question, want string }{
		{"What is a fender?", "A fender is a cushion that hangs between a ship and the quay."},
		{"What does ETA stand for?", "ETA = estimated time of arrival"},
		{"What is a tender?", "A small boat that carries people to a ship is called a tender."},
		{"How do I moor a ship?", "To moor a ship, do the following:\nHang out the fenders.\nThrow the bow line.\nMake fast the stern line."},
		{"Why are night landings forbidden?", "Most accidents happened in the dark."},
		{"What is the phone number of the pilots?", "Office: Pilots; Phone: 555 0178"},
	} {
		got := Find(c.question, handbook)
		if !got.Found || !strings.Contains(got.Text, c.want) {
			t.Errorf("Find(%q): got %q (%.2f), want %q in it", c.question, got.Text, got.Confidence, c.want)
		}
	}
}

func TestAbstainsOnSwappedQuestions(t *testing.T) {
	for _, c := range []struct{ right, swapped string }{
		{"Who designed the Harbour Bridge?", "Who designed the Cathedral Bridge?"},
		{"When was the Harbour Bridge opened?", "When was the Harbour Tunnel opened?"},
		{"What is the toll for a lorry?", "What is the toll for a tank?"},
	} {
		right, swapped := Find(c.right, library), Find(c.swapped, library)
		if swapped.Confidence >= right.Confidence {
			t.Errorf("%q: got confidence %.2f, want less than the %.2f of %q", c.swapped, swapped.Confidence, right.Confidence, c.right)
		}
	}
}

// A statement does not answer the question for its opposite.
func TestAbstainsOnDenials(t *testing.T) {
	passages := []Passage{{Document: "Travel policy", Section: "Travel", Score: 5, Text: "Contractors are not reimbursed for meals. Employees must fly economy class."}}
	for _, c := range []struct {
		question, answer string // "" means none
	}{
		{"Who is reimbursed for meals?", ""},
		{"Who is not reimbursed for meals?", "Contractors"},
		{"Which class must employees not fly?", ""},
		{"Which class must employees fly?", "economy"},
		{"Are contractors reimbursed for meals?", "not reimbursed"},
	} {
		got := Find(c.question, passages)
		if got.Found != (c.answer != "") || !strings.Contains(got.Text, c.answer) {
			t.Errorf("Find(%q): got %q (%.2f, %s), want %q", c.question, got.Text, got.Confidence, got.Reasoning, c.answer)
		}
	}
}

func TestReasoningNamesSource(t *testing.T) {
	got := Find("Who designed the Harbour Bridge?", library)
	for _, want := range []string{"The Harbour Bridge", "Bridges of Norland", "pages 12–13", "designed", "a person"} {
		if !strings.Contains(got.Reasoning, want) {
			t.Errorf("reasoning %q: want %q in it", got.Reasoning, want)
		}
	}
	if !reflect.DeepEqual(got.Used, []int{0}) {
		t.Errorf("used: got %v, want the first passage", got.Used)
	}
}

func TestAbstains(t *testing.T) {
	for _, q := range []string{
		"What is the melting point of tungsten?", "Who won the chess championship in Reykjavik?", "How do plants turn light into sugar?",
	} {
		got := Find(q, library)
		if got.Found || got.Confidence >= abstainBelow || got.Text != notFound || got.Used != nil || got.Reasoning == "" {
			t.Errorf("Find(%q): got %+v, want an abstention with its reason", q, got)
		}
	}
}

func TestEmptyOrInvalidInput(t *testing.T) {
	for _, c := range []struct {
		question string
		passages []Passage
	}{
		{"", library}, {"?!", library}, {"\xff\xfe", library}, {"Who?", nil}, {"Who designed it?", []Passage{{}}}, {"who is it", []Passage{{Text: "# only a heading"}}},
		{"a", []Passage{{Text: "|"}}}, {"b", []Passage{{Text: "|\n|-|\n|"}}}, {"c", []Passage{{Text: "```"}}},
		{"Who designed it?", []Passage{{Text: "Someone designed it.", Score: math.NaN()}, {Text: "No one.", Score: math.Inf(1)}}},
	} {
		got := Find(c.question, c.passages)
		if got.Text == "" || got.Reasoning == "" || math.IsNaN(got.Confidence) {
			t.Errorf("Find(%q, %d passages): got %+v, want a sentence and a number", c.question, len(c.passages), got)
		}
	}
}

func TestOtherLanguages(t *testing.T) {
	passages := []Passage{
		{Document: "Brücken", Score: 3, Text: "Die Hafenbrücke wurde 1931 eröffnet. Der Entwurf der Hafenbrücke stammt von Ingrid Solheim."},
		{Document: "橋", Score: 2, Text: "港の橋は一九三一年に開通した。設計者は田中である。"},
	}
	if got := Find("Wann wurde die Hafenbrücke eröffnet?", passages); !strings.Contains(got.Text, "1931") {
		t.Errorf("got %q, want 1931 in it", got.Text)
	}
	if got := Find("橋の設計者は誰ですか", passages); !strings.Contains(got.Text, "田中") {
		t.Errorf("got %q, want the designer in it", got.Text)
	}
}

func TestAccentsAreIgnored(t *testing.T) {
	passages := []Passage{{Document: "Lives", Text: "Zoë Müller-Ångström founded the observatory in Tromsø in 1911. Others came later.", Score: 2}}
	if got := Find("When did Zoe Muller-Angstrom found the observatory?", passages); !got.Found || !strings.Contains(got.Text, "1911") {
		t.Errorf("got %+v, want 1911", got)
	}
}

func TestFindIsDeterministic(t *testing.T) {
	first := Find("When was the Harbour Bridge opened?", library)
	for range 20 {
		if again := Find("When was the Harbour Bridge opened?", library); !reflect.DeepEqual(first, again) {
			t.Fatalf("got %+v, then %+v", first, again)
		}
	}
}

// verbatim returns an error if a word of an answer is not in its passages.
func verbatim(a Answer, passages []Passage) error {
	if !a.Found {
		return nil
	}
	var all []string
	for _, i := range a.Used {
		all = append(all, strings.Join(strings.Fields(matching.Cut(passages[i].Text, matching.MaxPassage)), " "))
	}
	text := strings.Join(all, "\n")
	a.Text = strings.Replace(a.Text, "\n"+alternatively, "\n", 1)
	if strings.Contains(text, a.Text) || strings.Contains(text, strings.Join(strings.Fields(a.Text), " ")) {
		return nil
	}
	// Compare word by word: table rows and pairs of sentences are not contiguous in the
	// passage, and markup is left out.
	text += "\n" + markdown.Plain(text)
	for _, w := range strings.FieldsFunc(a.Text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("*_`[]()<>\\:;", r) }) {
		if !strings.Contains(text, w) {
			return fmt.Errorf("%q of the answer %q is not in the passages", w, a.Text)
		}
	}
	return nil
}

func TestAnswersQuotePassages(t *testing.T) {
	words := strings.Fields("Who When Harbour Bridge toll lorry painting The a of 1931 \n \n\n | |---| - ``` # . ? ! “ ” ( ) , ; : ** Solheim opened designed by in Dr. e.g. ")
	pick := func(picks []uint8) string {
		var b strings.Builder
		for _, p := range picks {
			b.WriteString(words[int(p)%len(words)])
			b.WriteString([]string{" ", "\n", " ", ""}[p%4])
		}
		return b.String()
	}
	err := quick.Check(func(question, one, two []uint8) bool {
		passages := []Passage{{Document: "One", Text: pick(one), Score: 2}, {Section: "Two", Text: pick(two), Score: 1}}
		a := Find(pick(question), passages)
		if err := verbatim(a, passages); err != nil {
			t.Log(err)
			return false
		}
		return a.Found == (a.Confidence >= abstainBelow)
	}, &quick.Config{MaxCount: 3000})
	if err != nil {
		t.Error(err)
	}
}

func TestCorpusAnswersQuotePassages(t *testing.T) {
	qs := answertest.Corpus(t)
	for i := 0; i < len(qs); i += 7 {
		if err := verbatim(Find(qs[i].Question, qs[i].Passages), qs[i].Passages); err != nil {
			t.Errorf("%s: %v", qs[i].Question, err)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, p := range library {
		f.Add("Who designed the Harbour Bridge?", p.Text, p.Section)
	}
	f.Add("What's Dr. O'Neil's e.g. 3,5-toll?", "Dr. O'Neil (b. 1900) said: “No.”[1] He left.:12–14 Then 港の橋。", "")
	f.Add("how many", "| a | b\n|-|-\n|\\| 1|", "# x")
	f.Fuzz(func(t *testing.T, question, text, section string) {
		passages := []Passage{{Document: section, Section: section, Text: text, Score: 1}, {Text: section}}
		a := Find(question, passages)
		if a.Text == "" || a.Reasoning == "" || a.Confidence < 0 || a.Confidence > 1 || math.IsNaN(a.Confidence) {
			t.Errorf("got %+v", a)
		}
	})
}

// tenPassages returns ten passages of about 250 words.
func tenPassages() []Passage {
	var passages []Passage
	for i := range 10 {
		var b strings.Builder
		for k := 0; b.Len() < 1500; k++ {
			fmt.Fprintf(&b, "In %d the harbour office of district %d counted %d ships, and Captain Holm wrote that trade in timber had grown since the bridge was opened. ", 1900+k, i, 10*k+i)
		}
		passages = append(passages, Passage{Document: "Harbour Annals", Section: fmt.Sprint("District ", i), Text: b.String(), Score: 10 - float64(i)})
	}
	return passages
}

func TestInputIsBounded(t *testing.T) {
	text := strings.Repeat("the bridge of bridges was opened ", 100_000)
	passages := make([]Passage, 200)
	for i := range passages {
		passages[i] = Passage{Document: text, Section: text, Path: []string{text}, Text: text, Score: 1}
	}
	f := newFinding(text, passages)
	if len(f.passages) != matching.MaxPassages || len(f.passages[0].Text) > matching.MaxPassage || len(f.question.Terms) > matching.MaxTerms {
		t.Errorf("newFinding kept %d passages of %d bytes and %d terms", len(f.passages), len(f.passages[0].Text), len(f.question.Terms))
	}
	if a := Find(text, passages); a.Text == "" || len(a.Reasoning) > 4000 {
		t.Errorf("got an answer of %d bytes with a reasoning of %d", len(a.Text), len(a.Reasoning))
	}
}

// Find should take less than 10 ms per question.
func BenchmarkFind(b *testing.B) {
	passages := tenPassages()
	b.ReportAllocs()
	for b.Loop() {
		Find("How many ships did the harbour office count when Captain Holm wrote about timber in 1905?", passages)
	}
}

func BenchmarkFindInCorpus(b *testing.B) {
	qs := answertest.Corpus(b)
	i := 0
	for b.Loop() {
		Find(qs[i%len(qs)].Question, qs[i%len(qs)].Passages)
		i++
	}
}

func TestDatesAreQuotedWhole(t *testing.T) {
	const text = "The harbour was opened by the mayor on November 10, 2009 and on the 4 May it had 12 ships."
	f, u := only("When was the harbour opened?", text)
	p := &f.passages[0]
	for window, want := range map[string]string{"10": "November 10, 2009", "November": "November", "2009": "2009", "4": "4 May", "12": "12"} {
		for i := u.From; i < u.To; i++ {
			if p.Text[p.Tokens[i].Start:p.Tokens[i].End] != window {
				continue
			}
			w := wholeDate(p, u, matching.Span{From: i, To: i + 1})
			if got := p.Text[p.Tokens[w.From].Start:p.Tokens[w.To-1].End]; got != want {
				t.Errorf("wholeDate of %q: got %q, want %q", window, got, want)
			}
		}
	}
}

func TestEqualSentencesAreToldOnce(t *testing.T) {
	passages := []Passage{
		{ID: "1", Document: "Notice A", Score: 5, Text: "The office must receive comments on the plan by 21 September 2020. Send them by mail."},
		{ID: "2", Document: "Notice B", Score: 5, Text: "The office must receive comments on the plan by 21 September 2020. Docket 0746 has more."},
	}
	alone := Find("When must the office receive comments on the plan?", passages[:1])
	got := Find("When must the office receive comments on the plan?", passages)
	if strings.Count(got.Text, "September") != 1 || !strings.Contains(got.Text, "21 September 2020") {
		t.Errorf("got %q, want the date once", got.Text)
	}
	if got.Confidence < alone.Confidence-0.1 {
		t.Errorf("got confidence %.2f from two documents that agree, %.2f from one", got.Confidence, alone.Confidence)
	}
}

func TestMisspeltWordsAreFound(t *testing.T) {
	passages := []Passage{{Document: "Guide", Score: 5, Text: "The lighthouse of Aldmund was finished in 1759. The mill was finished in 1811."}}
	for _, question := range []string{"When was the lighthuose finished?", "When was the lighthouse of Aldmnud finished?"} {
		if got := Find(question, passages); !got.Found || !strings.HasPrefix(got.Text, "1759") {
			t.Errorf("%s: got %q (%.2f), want 1759 first", question, got.Text, got.Confidence)
		}
	}
	if got := Find("When was the greenhouse finished?", passages); strings.Contains(got.Text, "1759") {
		t.Errorf("got %q for another word", got.Text)
	}
}

func TestSecondLineIsAnAlternative(t *testing.T) {
	const first, second = "The old lighthouse of Aldmund was finished in 1759.", "The lighthouse at Aldmund was finished in 1811."
	for _, c := range []struct{ question, second, want string }{
		{"When was the lighthouse finished?", second, "1811\nor: 1759"},
		{"When was the lighthouse finished?", "In 1759 the lighthouse of Aldmund was finished.", "1759"},              // the same year
		{"When was the lighthouse finished?", "The lighthouse at Aldmund was finished by the council.", "1759"},       // no time
		{"When was the lighthouse finished?", "A bakery was opened in 1811 and the café was closed in 1812.", "1759"}, // of something else
		{"Deniz feneri Aldmund finished ne zaman?", second, ""},                                                       // in an unknown language
	} {
		got := Find(c.question, []Passage{{ID: "1", Document: "A", Score: 5, Text: first}, {ID: "2", Document: "B", Score: 5, Text: c.second}})
		if c.want == "" && !strings.Contains(got.Text, "or: ") {
			continue
		}
		if got.Text != c.want {
			t.Errorf("%s %s: got %q (%.2f), want %q", c.question, c.second, got.Text, got.Confidence, c.want)
		}
	}
}

func TestLabelsAreNoPartOfASentence(t *testing.T) {
	passages := []Passage{{Document: "Tide attacks", Score: 5, Text: "Abstract\nWe explore “tide attacks” on harbours. A tide attack consists of a ship that arrives when the water is low. The motives for tide attacks are twofold."}}
	if got, want := Find("What is a tide attack?", passages), "A tide attack consists of a ship that arrives when the water is low."; got.Text != want {
		t.Errorf("got %q, want %q", got.Text, want)
	}
}

func TestCommandIsTheWay(t *testing.T) {
	passages := []Passage{{Document: "Installation", Section: "Installing norctl on Linux", Score: 5, Text: "If you use Linux, enter this command:\n\n```console\n$ fetch norctl\n```\n\n" +
		"You are asked for the password. If the install worked, this line appears:\n\n```text\nnorctl is installed now. Great!\n```\n\nYou need a compiler as well. It is likely you already have one."}}
	if got := Find("How do I install norctl on Linux?", passages); !strings.Contains(got.Text, "$ fetch norctl") || strings.Contains(got.Text, "Great!") {
		t.Errorf("got %q, want the command", got.Text)
	}
}

func TestKindIsNotMissed(t *testing.T) {
	passages := []Passage{{Document: "Norland", Score: 5, Text: "Norland has a release cycle of six weeks. To reach the harbour office, call 555 0134. Version 2 was released on 4 May 2020."}}
	for question, word := range map[string]string{"How long is the release cycle of Norland?": "long", "Which number do I call to reach the harbour office?": "number", "When did version 2 come?": "come"} {
		if got := Find(question, passages); strings.Contains(got.Reasoning, "“"+word+"”") {
			t.Errorf("%s: the reasoning %q misses a word that only tells the kind of answer", question, got.Reasoning)
		}
	}
}

func TestForeignQuestionsHaveNoEnglishKind(t *testing.T) {
	passages := []Passage{{Document: "Contrat", Score: 3, Text: "La période d'essai est de trois mois."}, {Document: "Договор", Score: 2, Text: "Книги хранятся в библиотеке."}, {Document: "橋", Score: 2, Text: "港の橋は一九三一年に開通した。"}}
	for question, want := range map[string]string{"Quelle est la durée de la période d’essai ?": "trois mois", "Где хранятся книги?": "библиотеке", "港の橋はいつ開通しましたか": "一九三一年"} {
		got := Find(question, passages)
		for _, wrong := range []string{"asks for", "Quelle", "d’essai” stand", "Где", "“は”", "“で”", "mention “d’essai”"} {
			if strings.Contains(got.Reasoning, wrong) {
				t.Errorf("%s: %q is in the reasoning %q", question, wrong, got.Reasoning)
			}
		}
		if !strings.Contains(got.Text, want) {
			t.Errorf("%s: got %q (%.2f), want %q in it", question, got.Text, got.Confidence, want)
		}
	}
	if q := matching.ParseQuestion("What is the comment of the notice period?"); q.Foreign {
		t.Error("an English question is taken for one in another language")
	}
}

// A second line tells another value for the same, or nothing.
func TestAlternativesCompete(t *testing.T) {
	for _, c := range []struct{ question, best, other, name string }{
		{"Who is the head of the clinic?", "The head of the clinic is Eva Koch.", "Before her, Leo Brandt was the head of the clinic.", "what was"},
		{"Who is the head of the clinic?", "The head of the clinic is Eva Koch.", "The previous head of the clinic was Leo Brandt.", "what was"},
		{"Who wrote the lesson on tides?", "Mia Lund wrote the lesson on tides.", "Tom Ray printed the lesson on tides.", "another deed"},
		{"Which part stores the pallets?", "Hall C stores the pallets.", "The plan shows the pallets of Hall C.", "the same"},
	} {
		f := newFinding(c.question, []Passage{{Text: c.best + " " + c.other}})
		f.best = 0
		f.window = f.units[0].Whole()
		if c.name == "the same" {
			f.window.To = f.window.From + 2
		}
		other := len(f.units) - 1
		if f.related(other, f.units[other].Whole()) {
			t.Errorf("%q is an alternative to %q, but tells %s", c.other, c.best, c.name)
		}
	}
	f := newFinding("Who wrote the lesson on tides?", []Passage{{Text: "Mia Lund wrote the lesson on tides. The lesson on tides was written by Tom Ray."}})
	f.window = matching.Span{From: 0, To: 2}
	if u := &f.units[1]; !f.related(1, matching.Span{From: u.To - 2, To: u.To}) {
		t.Errorf("another author of the same is no alternative")
	}
}
