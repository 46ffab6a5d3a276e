package evaluation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"annals/cmd/annals/terminal"
)

// format is the version of the format of reports.
const format = 1

// Report is the result of a run.
type Report struct {
	Format      int         `json:"format"`
	Program     string      `json:"program"` // version of the program that measured
	Time        time.Time   `json:"time"`
	Server      string      `json:"server"`
	Questions   string      `json:"questions"`            // name of the folder with the questions
	Folder      string      `json:"folder,omitempty"`     // in which was searched
	Generation  int         `json:"generation,omitempty"` // of the passages; 0 means the active one
	Threshold   float64     `json:"threshold"`
	Errors      int         `json:"errors"` // queries and questions that the server refused; they count as not found
	Measures    []Measure   `json:"measures"`
	Reliability []Bin       `json:"reliability,omitempty"`
	Comparison  *Comparison `json:"comparison,omitempty"`
	Items       []Item      `json:"items,omitempty"` // only in saved files
}

// Measure is a measure over all queries or questions that it applies to.
type Measure struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Count   int     `json:"count"` // of queries or questions

	values map[string]float64 // by Item.key; nil if Value is not their mean
}

// means are the measures that are means over items, in the order of the report.
var means = []struct{ section, name string }{
	{"retrieval", "nDCG@10"}, {"retrieval", "recall@1"}, {"retrieval", "recall@5"}, {"retrieval", "recall@10"}, {"retrieval", "MRR@10"}, {"retrieval", "hit@1"},
	{"passages", "document@1"}, {"passages", "document@5"}, {"passages", "answer@1"}, {"passages", "answer@5"}, {"passages", "page@1"},
	{"answers", "contains"}, {"answers", "exact"}, {"answers", "F1"}, {"answers", "document"}, {"answers", "page"},
}

// summarize sets the measures from the items.
func (r *Report) summarize() {
	r.Measures, r.Errors = nil, 0
	for _, m := range means {
		r.addMean(m.section, m.name, func(i *Item) (v float64, ok bool) {
			v, ok = i.Measures[m.section+" "+m.name]
			return v, ok
		})
	}
	all := r.replies()
	r.add("answers", "median words", median(all.words), len(all.words))
	if len(all.answerable) > 0 && len(all.unanswerable) > 0 {
		r.add("abstention", "AUROC", auroc(all.answerable, all.unanswerable), len(all.answerable)+len(all.unanswerable))
		r.add("abstention", "precision", mean(all.abstained), len(all.abstained))
	}
	r.addMean("abstention", "recall", func(i *Item) (float64, bool) {
		if i.Answer == nil || !i.Answer.Abstain {
			return 0, false
		}
		return score(i.Answer.abstains(r.Threshold)), true
	})
	r.addMean("abstention", "answered", func(i *Item) (float64, bool) {
		if i.Answer == nil || i.Answer.Abstain {
			return 0, false
		}
		return score(!i.Answer.abstains(r.Threshold)), true
	})
	if len(all.confidences) > 0 {
		table, ece := reliability(all.confidences, all.right)
		r.Reliability = table
		r.add("calibration", "expected error", ece, len(all.confidences))
	}
	r.addTimes("search", all.searches)
	r.addTimes("ask", all.asks)
}

// add adds a measure that is no mean, unless it is over nothing.
func (r *Report) add(section, name string, value float64, count int) {
	if count > 0 {
		r.Measures = append(r.Measures, Measure{Section: section, Name: name, Value: value, Count: count})
	}
}

func (r *Report) addTimes(what string, times []float64) {
	r.add("latency", what+" p50 ms", percentile(times, .5), len(times))
	r.add("latency", what+" p95 ms", percentile(times, .95), len(times))
}

// addMean adds the mean over all items that have a value.
func (r *Report) addMean(section, name string, value func(*Item) (float64, bool)) {
	values, sum := make(map[string]float64), 0.0
	for i := range r.Items {
		if v, ok := value(&r.Items[i]); ok {
			values[r.Items[i].key()] = v
			sum += v
		}
	}
	if n := len(values); n > 0 {
		r.Measures = append(r.Measures, Measure{section, name, sum / float64(n), n, values})
	}
}

// replies are the values of all replies that are not measured as means.
type replies struct {
	searches, asks           []float64 // durations in milliseconds
	words                    []float64 // of the replies to answerable questions, without abstentions
	answerable, unanswerable []float64 // confidences
	abstained                []float64 // for each abstention, 1 if it is right and 0 if not
	confidences              []float64 // of the replies of which it is known whether they are right
	right                    []bool    // for each of confidences
}

// replies collects the replies, and counts the errors.
func (r *Report) replies() (all replies) {
	for i := range r.Items {
		item := &r.Items[i]
		if item.Error != "" {
			r.Errors++
			continue
		}
		all.searches = append(all.searches, 1000*item.Seconds)
		if item.Answer != nil {
			all.add(item, r.Threshold)
		}
	}
	return all
}

func (all *replies) add(item *Item, threshold float64) {
	a := item.Answer
	all.asks = append(all.asks, 1000*a.Seconds)
	confidence := a.Confidence
	if strings.TrimSpace(a.Text) == "" {
		confidence = -1 // no answer is less than an uncertain one
	}
	if a.Abstain {
		all.unanswerable = append(all.unanswerable, confidence)
	} else {
		all.answerable = append(all.answerable, confidence)
	}
	switch {
	case a.abstains(threshold):
		all.abstained = append(all.abstained, score(a.Abstain))
	case !a.Abstain:
		all.words = append(all.words, float64(len(strings.Fields(a.Text))))
	}
	if a.Judged {
		all.confidences = append(all.confidences, a.Confidence)
		all.right = append(all.right, item.Measures["answers contains"] == 1)
	}
}

// save writes the report with its items to a file, which appears as a whole.
func (r *Report) save(file string) (err error) {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // readable only by its owner, because it has answers
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// load reads a file that save has written.
func load(file string) (*Report, error) {
	f, err := open(filepath.Dir(file), filepath.Base(file))
	if f == nil && err == nil {
		err = fmt.Errorf("read %s: there is no such file; annals eval --save writes it", file)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := new(Report)
	if err := json.NewDecoder(io.LimitReader(f, maxFile)).Decode(r); err != nil {
		return nil, fmt.Errorf("read %s: it is not a file that annals eval --save has written: %w", file, err)
	}
	if r.Format != format {
		return nil, fmt.Errorf("read %s: its format is %d, and this version of annals reads %d: measure again with --save", file, r.Format, format)
	}
	return r, nil
}

// print prints the report as tables.
func (r *Report) print(out io.Writer) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	c := r.Comparison
	if c == nil {
		fmt.Fprintln(table, "SECTION\tMEASURE\tVALUE\tCOUNT")
		for _, m := range r.Measures {
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\n", m.Section, m.Name, number(m.Section, m.Value), m.Count)
		}
	} else {
		c.print(table)
	}
	_ = table.Flush() // a strings.Builder never fails
	if len(r.Reliability) > 0 {
		fmt.Fprintln(table, "\nCONFIDENCE\tANSWERS\tRIGHT\tMEAN CONFIDENCE")
		for _, b := range r.Reliability {
			right, confidence := "", ""
			if b.Answers > 0 {
				right, confidence = fmt.Sprintf("%.2f", float64(b.Right)/float64(b.Answers)), fmt.Sprintf("%.2f", b.Confidence)
			}
			fmt.Fprintf(table, "%.1f to %.1f\t%d\t%s\t%s\n", b.From, b.To, b.Answers, right, confidence)
		}
		_ = table.Flush()
	}
	if c != nil {
		c.printChanged(&text)
	}
	if i := slices.IndexFunc(r.Items, func(i Item) bool { return i.Error != "" }); i >= 0 {
		fmt.Fprintf(&text, "\nrefused by the server, counted as not found: %d (%s)\n", r.Errors, terminal.Printable(r.Items[i].Error))
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// print prints the measures before and now.
func (c *Comparison) print(table io.Writer) {
	fmt.Fprintln(table, "SECTION\tMEASURE\tBEFORE\tNOW\tDIFFERENCE\tP\tCOUNT")
	for _, d := range c.Measures {
		p, sign := "", ""
		if d.P != nil {
			p = fmt.Sprintf("%.4f", *d.P)
		}
		if d.Difference > 0 {
			sign = "+"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s%s\t%s\t%d\n", d.Section, d.Name, number(d.Section, d.Before), number(d.Section, d.Value), sign, number(d.Section, d.Difference), p, d.Count)
	}
}

// printChanged prints the items that changed most.
func (c *Comparison) printChanged(out io.Writer) {
	if len(c.Changed) > 0 {
		fmt.Fprintln(out, "\nchanged most, by nDCG@10 of queries and F1 of answers, or the confidence where none is right:")
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, change := range c.Changed {
			fmt.Fprintf(table, "%s\t%s\t%s\t%.3f → %.3f\n", change.Kind, terminal.Printable(shortened(change.ID)), terminal.Printable(shortened(change.Text)), change.Before, change.Now)
		}
		_ = table.Flush()
	}
	if c.Left > 0 {
		fmt.Fprintf(out, "\nleft out because they are not the same in both: %d\n", c.Left)
	}
}

// number formats a value: milliseconds with one decimal, and shares with four.
func number(section string, value float64) string {
	if section == "latency" {
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.4f", value)
}

// shortened returns the beginning of a text.
func shortened(text string) string {
	const most = 70
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
