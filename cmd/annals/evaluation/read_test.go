package evaluation

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder writes files to a new folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestJudgementsOfTRECAndBEIR(t *testing.T) {
	queries := `{"_id": "1", "text": "wings", "metadata": {}}` + "\n\n" + `{"id": 2, "text": "tails"}` + "\n" + `{"id": "3", "text": "not judged"}` + "\n"
	for name, qrels := range map[string]string{
		"qrels.txt":      "1 0 a.md 2\n1 0 b.md 0\n2 Q0 c.md 1\n2 0 d.md -1\n",
		"qrels.tsv":      "query-id\tcorpus-id\tscore\r\n1\ta.md\t2\r\n1\tb.md\t0\r\n2\tc.md\t1\r\n",
		"qrels/test.tsv": "\uFEFFquery-id\tcorpus-id\tscore\n1\ta.md\t2\n2\tc.md\t1\n",
	} {
		c, err := read(folder(t, map[string]string{"queries.jsonl": queries, name: qrels}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(c.queries) != 2 || c.queries[0].id != "1" || c.queries[0].text != "wings" || !maps.Equal(c.queries[0].relevant, map[string]int{"a.md": 2}) || !maps.Equal(c.queries[1].relevant, map[string]int{"c.md": 1}) {
			t.Errorf("%s: read %+v", name, c.queries)
		}
		if got := slices.Sorted(maps.Keys(c.named)); !slices.Equal(got, []string{"a.md", "c.md"}) {
			t.Errorf("%s: named %q", name, got)
		}
	}
	c, err := read(folder(t, map[string]string{"queries.jsonl": queries, "qrels.txt": "1\t0\treports/a name.md\t1\n"}))
	if err != nil || c.queries[0].relevant["reports/a name.md"] != 1 {
		t.Errorf("a name with a space: %+v, %v", c, err)
	}
}

func TestQuestionsAndSQuAD(t *testing.T) {
	want := []question{
		{id: "a", text: "When?", answers: []string{"1759", "in 1759"}, document: "x.pdf", pages: []int{3}},
		{id: "b", text: "Who?", abstain: true},
	}
	for name, text := range map[string]string{
		"questions.jsonl": `{"id": "a", "question": "When?", "answers": ["1759", "in 1759"], "document": "x.pdf", "page": 3}
			{"id": "b", "question": "Who?", "answers": [], "abstain": true, "document": "x.pdf"}`,
		"questions.json": `{"version": "v2.0", "data": [{"title": "X", "paragraphs": [{"context": "…", "qas": [
			{"id": "a", "question": "When?", "answers": [{"text": "1759", "answer_start": 4}, {"text": "in 1759"}], "is_impossible": false, "document": "x.pdf", "page": [3]},
			{"id": "b", "question": "Who?", "answers": [], "plausible_answers": [{"text": "he"}], "is_impossible": true}]}]}]}`,
	} {
		c, err := read(folder(t, map[string]string{name: strings.ReplaceAll(text, "\t", "")}))
		if err != nil {
			t.Fatal(err)
		}
		equal := func(a, b question) bool {
			return a.id == b.id && a.text == b.text && slices.Equal(a.answers, b.answers) && a.document == b.document && slices.Equal(a.pages, b.pages) && a.abstain == b.abstain
		}
		if !slices.EqualFunc(c.questions, want, equal) {
			t.Errorf("%s: read %+v", name, c.questions)
		}
	}
	c, err := read(folder(t, map[string]string{"questions.jsonl": `{"id": 1, "question": "When?", "answers": {"text": ["1759"], "answer_start": [4]}}`}))
	if err != nil || !slices.Equal(c.questions[0].answers, []string{"1759"}) {
		t.Errorf("answers as in data sets: %+v, %v", c, err)
	}
}

func TestWrongFilesAreExplained(t *testing.T) {
	queries := `{"id": "1", "text": "wings"}`
	question := func(line string) map[string]string {
		return map[string]string{"questions.jsonl": `{"id": "1", "question": "q", "answers": ["a"]}` + "\n" + line}
	}
	for want, files := range map[string]map[string]string{
		"has neither qrels.txt":                                     {},
		"no queries.jsonl":                                          {"qrels.txt": "1 0 a 1"},
		"qrels.txt:1: the line has 2 columns":                       {"queries.jsonl": queries, "qrels.txt": "1 a"},
		"qrels.txt:1: the line has 5 columns":                       {"queries.jsonl": queries, "qrels.txt": "1 0 a b 1"},
		`qrels.txt:2: the relevance "high" is not`:                  {"queries.jsonl": queries, "qrels.txt": "1 0 a 1\n1 0 b high"},
		"qrels.txt:2: document \"a\" is judged twice for query":     {"queries.jsonl": queries, "qrels.txt": "1 0 a 1\n1 0 a 2"},
		"qrels.tsv:1: a column is empty":                            {"queries.jsonl": queries, "qrels.tsv": "1\t\t1"},
		"qrels.tsv:1: the folder has qrels.txt too":                 {"queries.jsonl": queries, "qrels.txt": "1 0 a 1", "qrels.tsv": "1\ta\t1"},
		"qrels.txt is empty":                                        {"queries.jsonl": queries, "qrels.txt": "\n"},
		"queries.jsonl: no query has a relevant document":           {"queries.jsonl": queries, "qrels.txt": "1 0 a 0"},
		`queries.jsonl: the query "2" is judged, but is not there`:  {"queries.jsonl": queries, "qrels.txt": "1 0 a 1\n2 0 a 1"},
		"queries.jsonl:2: the id \"1\" is used twice":               {"queries.jsonl": queries + "\n" + queries, "qrels.txt": "1 0 a 1"},
		`queries.jsonl:1: the query "1" has no "text"`:              {"queries.jsonl": `{"id": "1"}`, "qrels.txt": "1 0 a 1"},
		"queries.jsonl:1: give the query one id":                    {"queries.jsonl": `{"id": "1", "_id": "2", "text": "x"}`, "qrels.txt": "1 0 a 1"},
		"queries.jsonl:1: the line is not JSON":                     {"queries.jsonl": `{"id": `, "qrels.txt": "1 0 a 1"},
		"queries.jsonl:1: the line is not a JSON object":            {"queries.jsonl": `[1]`, "qrels.txt": "1 0 a 1"},
		`queries.jsonl:1: "text" cannot be a JSON number`:           {"queries.jsonl": `{"id": "1", "text": 3}`, "qrels.txt": "1 0 a 1"},
		"queries.jsonl:1: the line is not UTF-8":                    {"queries.jsonl": "{\"id\": \"\xff\"}", "qrels.txt": "1 0 a 1"},
		"queries.jsonl:2: the line is longer than":                  {"queries.jsonl": queries + "\n" + strings.Repeat("x", maxLine), "qrels.txt": "1 0 a 1"},
		"questions.jsonl has no questions: write":                   {"questions.jsonl": "\n \n"},
		`questions.jsonl:2: the question has no "id"`:               question(`{"question": "q", "answers": ["a"]}`),
		"questions.jsonl:2: the id \"1\" is used twice":             question(`{"id": 1, "question": "q", "answers": ["a"]}`),
		`questions.jsonl:2: "2" has no text in "question"`:          question(`{"id": "2", "answers": ["a"]}`),
		`questions.jsonl:2: an answer to the question "2" is empty`: question(`{"id": "2", "question": "q", "answers": [" "]}`),
		`questions.jsonl:2: the question "2" has neither "answers"`: question(`{"id": "2", "question": "q"}`),
		`questions.jsonl:2: the question "2" has answers, although`: question(`{"id": "2", "question": "q", "answers": ["a"], "abstain": true}`),
		`questions.jsonl:2: the question "2" has a page, but no`:    question(`{"id": "2", "question": "q", "answers": ["a"], "page": 3}`),
		`questions.jsonl:2: the question "2" has page 0`:            question(`{"id": "2", "question": "q", "document": "d", "page": 0}`),
		`questions.jsonl:2: "page" is not a number`:                 question(`{"id": "2", "question": "q", "document": "d", "page": "iv"}`),
		`questions.jsonl:2: "answers" is not a list`:                question(`{"id": "2", "question": "q", "answers": "a"}`),
		"questions.json: it is not in the format of SQuAD":          {"questions.json": "{"},
		"questions.json has no questions":                           {"questions.json": `{"data": []}`},
		"the folder has questions.jsonl too":                        {"questions.json": `{"data": []}`, "questions.jsonl": `{"id": "1", "question": "q", "answers": ["a"]}`},
	} {
		if _, err := read(folder(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read = %v, want %q", err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("qrels.txt", "1 0 a.md 2\n", `{"_id": "1", "text": "wings"}`)
	f.Add("qrels.tsv", "query-id\tcorpus-id\tscore\n1\ta\t1\n", `{"id": 1, "text": "wings"}`)
	f.Add("questions.jsonl", `{"id": "a", "question": "When?", "answers": {"text": ["1759"]}, "document": "x.pdf", "page": [3]}`, "")
	f.Add("questions.json", `{"data": [{"paragraphs": [{"qas": [{"id": "a", "question": "q", "is_impossible": true}]}]}]}`, "")
	f.Fuzz(func(t *testing.T, name, text, queries string) {
		if !slices.Contains([]string{"qrels.txt", "qrels.tsv", "questions.jsonl", "questions.json"}, name) {
			return
		}
		c, err := read(folder(t, map[string]string{name: text, "queries.jsonl": queries}))
		if err != nil {
			return
		}
		for _, q := range c.queries {
			if q.id == "" || strings.TrimSpace(q.text) == "" || len(q.relevant) == 0 {
				t.Errorf("read the query %+v", q)
			}
			for document, gain := range q.relevant {
				if _, ok := c.named[document]; !ok || gain < 1 {
					t.Errorf("read the judgement %q %d", document, gain)
				}
			}
		}
		for _, q := range c.questions {
			if _, ok := c.named[q.document]; q.document != "" && !ok || q.id == "" || q.abstain && len(q.answers) > 0 || !q.abstain && len(q.answers) == 0 && q.document == "" {
				t.Errorf("read the question %+v", q)
			}
		}
	})
}
