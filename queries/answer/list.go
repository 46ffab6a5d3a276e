package answer

import (
	"strings"

	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
)

// maxList is the maximum number of items, rows or code blocks in an answer.
const maxList = 12

// list returns the range of units of the list, table or code blocks around or after the
// best unit, with the sentence that introduces them, if they are a part of the answer. The
// range is empty otherwise.
func (f *finding) list() (from, to int) {
	u := &f.units[f.best]
	if f.item[1] > f.item[0] {
		return f.item[0], f.item[1]
	}
	wanted := matching.Kinds[f.question.Expected].Lists
	from, to = f.best, f.best+1
	after := func(i int) bool {
		return i < len(f.units) && f.units[i].Passage == u.Passage && f.units[i].Kind != markdown.Sentence
	}
	switch {
	case u.Kind == markdown.Item && (wanted || f.alike(f.best)):
		for from > 0 && f.units[from-1].Passage == u.Passage && f.units[from-1].Kind == markdown.Item && to-from < maxList {
			from--
		}
		for after(to) && f.units[to].Kind == markdown.Item && to-from < maxList {
			to++
		}
		if from > 0 && f.units[from-1].Passage == u.Passage && f.leadsIn(from-1) {
			from--
		}
	case u.Kind == markdown.Code && wanted:
		if from > 0 && f.units[from-1].Passage == u.Passage && f.units[from-1].Kind != markdown.Code {
			from--
		}
	case u.Kind == markdown.Sentence && (f.leadsIn(f.best) || wanted && (after(to) && f.units[to].Kind == markdown.Code || f.same(to) && f.leadsIn(to))):
		if f.same(to) && f.leadsIn(to) { // "You can do five things. They are:"
			to++
		}
		if first := to; after(first) {
			for after(to) && f.units[to].Kind == f.units[first].Kind && to-from <= maxList {
				to++
			}
		} else if f.leadsIn(to - 1) {
			for f.named(to) && to-from <= maxList {
				to++
			}
		}
	default:
		return 0, 0
	}
	for to-from > 1 && f.leadsIn(to-1) { // what it introduces is not there
		to--
	}
	if to-from < 2 {
		return 0, 0
	}
	return from, to
}

// named reports whether unit i is a paragraph such as "Size: 4 metres", which is an item of a list without marks.
func (f *finding) named(i int) bool {
	if !f.same(i) || f.units[i].Kind != markdown.Sentence || f.leadsIn(i) {
		return false
	}
	u, text := &f.units[i], f.passages[f.units[i].Passage].Text
	return strings.HasSuffix(strings.TrimRight(text[:u.Start], " "), "\n\n") && strings.Contains(text[u.Start:u.End], ": ")
}

// same reports whether unit i exists and is in the passage of the best unit.
func (f *finding) same(i int) bool {
	return i < len(f.units) && f.units[i].Passage == f.units[f.best].Passage
}

// leadsIn reports whether unit i is a sentence that introduces what follows.
func (f *finding) leadsIn(i int) bool {
	u := &f.units[i]
	return u.Kind == markdown.Sentence && f.passages[u.Passage].Text[u.End-1] == ':'
}

// items returns the range of units of the list around unit i.
func (f *finding) items(i int) (from, to int) {
	in := func(k int) bool {
		return k >= 0 && k < len(f.units) && f.units[k].Passage == f.units[i].Passage && f.units[k].Kind == markdown.Item
	}
	from, to = i, i+1
	for in(from - 1) {
		from--
	}
	for in(to) {
		to++
	}
	return from, to
}

// alike reports whether the question does not tell item i from the others of its list, because
// its words are only in what introduces the list. Then all items are the answer.
func (f *finding) alike(i int) bool {
	const enough = 0.3 // of the question's weight
	q := &f.question
	if q.Expected != matching.Anything && q.Expected != matching.Definition || !q.Plural() || q.Share(f.units[i].Context) < enough {
		return false
	}
	from, to := f.items(i)
	for k := from; k < to; k++ {
		for t, c := range f.units[k].Credits {
			if c > f.units[k].Context[t] {
				return false
			}
		}
	}
	return to-from > 1
}

// itemChance is the confidence in an item that is chosen by its place, if what introduces its list
// has all words of the question.
const itemChance = 0.8

// chooseItem chooses the item that the question names by its place, such as "the third step", as
// the answer: that of the list of which the items and titles have most of the question, if they have half of it.
func (f *finding) chooseItem() {
	q := &f.question
	place, ok := q.Nth()
	if !ok {
		return
	}
	most, best := 0.0, -1
	for i := 0; i < len(f.units); i++ {
		if f.units[i].Kind != markdown.Item {
			continue
		}
		from, to := f.items(i)
		i = to - 1
		if share := f.introduced(from, to, place); share > most {
			most, best = share, from
		}
	}
	if most < 0.5 {
		return
	}
	from, to := f.items(best)
	var starts []int
	for i := from; i < to; i++ {
		if u := &f.units[i]; markdown.StartsItem(f.passages[u.Passage].Text, u.Start) {
			starts = append(starts, i)
		}
	}
	n := place.N - 1
	if place.N < 0 {
		n = len(starts) - 1
	}
	if n < 0 || n >= len(starts) {
		f.placed = -1 // the list is shorter
		return
	}
	f.item, f.placed = [2]int{starts[n], to}, itemChance*min(1, most)
	if n+1 < len(starts) {
		f.item[1] = starts[n+1]
	}
	f.best, f.also = starts[n], -1
	f.window = f.units[f.best].Whole()
}

// introduced returns the share of the question's weight, less the words for the place, that the
// units of a list and what introduces them have. Numbered lists count a little more if a step is asked for.
func (f *finding) introduced(from, to int, place matching.Nth) float64 {
	const numbered = 0.1
	q := &f.question
	found, total := 0.0, 0.0
	for t := range q.Terms {
		if t == place.Terms[0] || t == place.Terms[1] {
			continue
		}
		credit := 0.0
		for k := from; k < to; k++ {
			credit = max(credit, f.units[k].Credits[t], f.units[k].Context[t])
		}
		found += credit * q.Terms[t].Weight
		total += q.Terms[t].Weight
	}
	u := &f.units[from]
	if total == 0 {
		return 0
	}
	if found /= total; found > 0 && markdown.Numbered(f.passages[u.Passage].Text, u.Start) {
		found += numbered
	}
	return found
}
