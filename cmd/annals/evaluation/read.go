package evaluation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the files with questions.
const (
	maxFile      = 256 << 20 // bytes
	maxLine      = 1 << 20   // bytes
	maxQuestions = 100_000
	maxJudged    = 2_000_000 // judgements
	maxAnswers   = 100       // answers to a question
)

// names of the files in a folder with questions.
const (
	queriesFile   = "queries.jsonl"
	questionsFile = "questions.jsonl"
	squadFile     = "questions.json"
)

// judgementFiles are the names under which judgements are looked for. The last one is that
// of the collections of BEIR.
var judgementFiles = []string{"qrels.txt", "qrels.tsv", "qrels/test.tsv"}

// query is a query for which people judged documents.
type query struct {
	id, text string
	relevant map[string]int // gain, above 0, by the name of the document
}

// question is a question whose answer is known.
type question struct {
	id, text string
	answers  []string
	document string // name of the document that has the answer; may be ""
	pages    []int  // of that document on which the answer is
	abstain  bool   // the documents do not answer it
}

// mention says where a document is named, for errors.
type mention struct {
	file string
	line int
}

// collection is what a folder with questions holds.
type collection struct {
	queries   []query
	questions []question
	named     map[string]mention // documents by their names, with the first place that names them
}

// read reads the files in a folder. The queries that have no relevant document are left
// out, as trec_eval does.
func read(dir string) (*collection, error) {
	c := &collection{named: make(map[string]mention)}
	judged, err := c.judgements(dir)
	if err != nil {
		return nil, err
	}
	if err := c.readQueries(dir, judged); err != nil {
		return nil, err
	}
	asked, err := c.readQuestions(dir)
	switch {
	case err != nil:
		return nil, err
	case judged == nil && !asked:
		return nil, fmt.Errorf("%s has neither %s with %s, nor %s, nor %s: docs/evaluation.md describes them", dir, judgementFiles[0], queriesFile, questionsFile, squadFile)
	}
	return c, nil
}

// eachLine calls use for each line of a file that is not blank. Errors of use get the name of
// the file and the number of the line. found is false if the file does not exist.
func eachLine(dir, name string, use func(number int, line []byte) error) (found bool, err error) {
	f, err := open(dir, name)
	if f == nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxFile))
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Bytes()
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		err := error(nil)
		if !utf8.Valid(line) {
			err = errors.New("the line is not UTF-8")
		} else {
			err = use(number, line)
		}
		if err != nil {
			return true, fmt.Errorf("%s:%d: %w", f.Name(), number, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return true, fmt.Errorf("%s:%d: the line is longer than %d bytes", f.Name(), number+1, maxLine)
	}
	return true, lines.Err()
}

// open opens a file. Both results are nil if it does not exist.
func open(dir, name string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("read %s: it is not a file", f.Name())
	case info.Size() > maxFile:
		err = fmt.Errorf("read %s: it has %d bytes, and at most %d are read", f.Name(), info.Size(), maxFile)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// judgements reads the relevance judgements: gains by query and document. It returns nil if
// there are none.
func (c *collection) judgements(dir string) (all map[string]map[string]int, err error) {
	count, read := 0, ""
	for _, name := range judgementFiles {
		found, err := eachLine(dir, name, func(number int, line []byte) error {
			if all == nil {
				all, read = make(map[string]map[string]int), name
			} else if read != name {
				return fmt.Errorf("the folder has %s too: keep one of them", read)
			}
			id, document, gain, ok, err := judgement(string(line), number == 1)
			if !ok || err != nil {
				return err
			}
			if count++; count > maxJudged {
				return fmt.Errorf("there are more than %d judgements", maxJudged)
			}
			if all[id] == nil {
				all[id] = make(map[string]int)
			}
			if before, ok := all[id][document]; ok && before != gain {
				return fmt.Errorf("document %q is judged twice for query %q, with %d and %d", document, id, before, gain)
			}
			all[id][document] = gain
			if _, ok := c.named[document]; !ok && gain > 0 {
				c.named[document] = mention{filepath.Join(dir, filepath.FromSlash(name)), number}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if found && all == nil {
			return nil, fmt.Errorf("%s is empty", filepath.Join(dir, name))
		}
	}
	return all, nil
}

// judgement reads a line of judgements: in the form of TREC, with four columns (query,
// iteration, document, relevance), or in that of BEIR, with three (query, document,
// relevance) below a line with their names. If there are tabs, they separate the columns, so
// that names of documents may have spaces. ok is false if the line has the names of columns.
func judgement(line string, first bool) (query, document string, gain int, ok bool, err error) {
	columns := strings.Fields(line)
	if strings.Contains(line, "\t") {
		columns = strings.Split(strings.TrimRight(line, "\r"), "\t")
	}
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}
	n := len(columns)
	if n != 3 && n != 4 {
		return "", "", 0, false, fmt.Errorf("the line has %d columns: write query, iteration, document and relevance, or query, document and relevance", n)
	}
	query, document = columns[0], columns[n-2]
	if gain, err = strconv.Atoi(columns[n-1]); err != nil || gain < -10 || gain > 1000 {
		if first && columns[0] == "query-id" {
			return "", "", 0, false, nil
		}
		return "", "", 0, false, fmt.Errorf("the relevance %q is not a number from -10 to 1000", columns[n-1])
	}
	if query == "" || document == "" {
		return "", "", 0, false, errors.New("a column is empty")
	}
	return query, document, gain, true, nil
}

// text is a string that JSON may give as a number, as ids often are.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	var n json.Number
	if len(b) > 0 && b[0] != '"' && json.Unmarshal(b, &n) == nil {
		*t = text(n)
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

func (c *collection) readQueries(dir string, judged map[string]map[string]int) error {
	seen := make(map[string]bool)
	found, err := eachLine(dir, queriesFile, func(_ int, line []byte) error {
		var q struct {
			ID    text   `json:"id"`
			BEIR  text   `json:"_id"`
			Query string `json:"text"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			return wrong(err)
		}
		id := string(q.ID + q.BEIR)
		switch {
		case q.ID != "" && q.BEIR != "" || id == "":
			return errors.New(`give the query one id, as "id" or "_id"`)
		case seen[id]:
			return fmt.Errorf("the id %q is used twice", id)
		case strings.TrimSpace(q.Query) == "":
			return fmt.Errorf(`the query %q has no "text"`, id)
		case len(seen) >= maxQuestions:
			return fmt.Errorf("there are more than %d queries", maxQuestions)
		}
		seen[id] = true
		relevant := make(map[string]int)
		for document, gain := range judged[id] {
			if gain > 0 {
				relevant[document] = gain
			}
		}
		if len(relevant) > 0 {
			c.queries = append(c.queries, query{id, q.Query, relevant})
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case judged != nil && !found:
		return fmt.Errorf("%s has judgements, but no %s with the queries", dir, queriesFile)
	case judged != nil && len(c.queries) == 0:
		return fmt.Errorf("%s: no query has a relevant document", filepath.Join(dir, queriesFile))
	}
	for _, id := range slices.Sorted(maps.Keys(judged)) {
		if !seen[id] {
			return fmt.Errorf("%s: the query %q is judged, but is not there", filepath.Join(dir, queriesFile), id)
		}
	}
	return nil
}

// wrong explains an error of package json.
func wrong(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return errors.New("the line is not a JSON object")
	case errors.As(err, &kind):
		return fmt.Errorf("%q cannot be a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("the line is not JSON: %w", err)
	}
	return err
}

// answers are the answers to a question: strings, or in the forms of SQuAD, objects with a
// text, or an object with all texts.
type answers []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *answers) UnmarshalJSON(b []byte) error {
	var objects []struct {
		Text string `json:"text"`
	}
	var object struct {
		Text []string `json:"text"`
	}
	switch {
	case json.Unmarshal(b, (*[]string)(a)) == nil:
	case json.Unmarshal(b, &objects) == nil:
		*a = nil
		for _, o := range objects {
			*a = append(*a, o.Text)
		}
	case json.Unmarshal(b, &object) == nil:
		*a = object.Text
	default:
		return errors.New(`"answers" is not a list of strings`)
	}
	return nil
}

// pages are the pages with an answer: a number, or a list of numbers.
type pages []int

// UnmarshalJSON implements json.Unmarshaler.
func (p *pages) UnmarshalJSON(b []byte) error {
	var one *int
	switch {
	case json.Unmarshal(b, (*[]int)(p)) == nil:
	case json.Unmarshal(b, &one) == nil && one != nil:
		*p = pages{*one}
	default:
		return errors.New(`"page" is not a number`)
	}
	return nil
}

// asked is a question as the files have it.
type asked struct {
	ID         text    `json:"id"`
	Question   string  `json:"question"`
	Answers    answers `json:"answers"`
	Document   string  `json:"document"`
	Page       pages   `json:"page"`
	Abstain    bool    `json:"abstain"`
	Impossible bool    `json:"is_impossible"` // of SQuAD 2.0, means the same
}

// readQuestions reads questions.jsonl, or questions.json in the form of SQuAD. found is false
// if there is neither.
func (c *collection) readQuestions(dir string) (found bool, err error) {
	seen := make(map[string]bool)
	found, err = eachLine(dir, questionsFile, func(number int, line []byte) error {
		var a asked
		if err := json.Unmarshal(line, &a); err != nil {
			return wrong(err)
		}
		return c.addQuestion(a, seen, mention{filepath.Join(dir, questionsFile), number})
	})
	if err == nil && found && len(c.questions) == 0 {
		err = fmt.Errorf(`%s has no questions: write one JSON object in a line, such as {"id": "1", "question": "…", "answers": ["…"]}`, filepath.Join(dir, questionsFile))
	}
	if err != nil {
		return found, err
	}
	f, err := open(dir, squadFile)
	if f == nil {
		return found, err
	}
	defer f.Close()
	if found {
		return true, fmt.Errorf("%s: the folder has %s too: keep one of them", f.Name(), questionsFile)
	}
	var squad struct {
		Data []struct {
			Paragraphs []struct {
				Questions []asked `json:"qas"`
			} `json:"paragraphs"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(f, maxFile)).Decode(&squad); err != nil {
		return true, fmt.Errorf("%s: it is not in the format of SQuAD: %w", f.Name(), err)
	}
	for _, article := range squad.Data {
		for _, paragraph := range article.Paragraphs {
			for _, a := range paragraph.Questions {
				if err := c.addQuestion(a, seen, mention{file: f.Name()}); err != nil {
					return true, fmt.Errorf("%s: %w", f.Name(), err)
				}
			}
		}
	}
	if len(c.questions) == 0 {
		return true, fmt.Errorf("%s has no questions in the format of SQuAD", f.Name())
	}
	return true, nil
}

func (c *collection) addQuestion(a asked, seen map[string]bool, at mention) error {
	q := question{id: string(a.ID), text: a.Question, document: strings.TrimSpace(a.Document), abstain: a.Abstain || a.Impossible}
	for _, answer := range a.Answers {
		if strings.TrimSpace(answer) == "" {
			return fmt.Errorf("an answer to the question %q is empty", q.id)
		}
		if !slices.Contains(q.answers, answer) {
			q.answers = append(q.answers, answer)
		}
	}
	for _, page := range a.Page {
		if page < 1 {
			return fmt.Errorf("the question %q has page %d: pages count from 1", q.id, page)
		}
		q.pages = append(q.pages, page)
	}
	switch {
	case q.id == "":
		return errors.New(`the question has no "id"`)
	case seen[q.id]:
		return fmt.Errorf("the id %q is used twice", q.id)
	case strings.TrimSpace(q.text) == "":
		return fmt.Errorf(`%q has no text in "question"`, q.id)
	case len(q.answers) > maxAnswers:
		return fmt.Errorf("the question %q has more than %d answers", q.id, maxAnswers)
	case q.abstain && len(q.answers) > 0:
		return fmt.Errorf("the question %q has answers, although the documents should not answer it", q.id)
	case len(q.pages) > 0 && q.document == "":
		return fmt.Errorf("the question %q has a page, but no document", q.id)
	case !q.abstain && len(q.answers) == 0 && q.document == "":
		return fmt.Errorf(`the question %q has neither "answers" nor a "document"; if the documents do not answer it, write "abstain": true`, q.id)
	case len(seen) >= maxQuestions:
		return fmt.Errorf("there are more than %d questions", maxQuestions)
	}
	seen[q.id] = true
	if _, ok := c.named[q.document]; !ok && q.document != "" && !q.abstain {
		c.named[q.document] = at
	}
	if q.abstain { // a document in which the answer is not would measure nothing
		q.document, q.pages = "", nil
	}
	c.questions = append(c.questions, q)
	return nil
}
