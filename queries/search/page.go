package search

import (
	"encoding/json"

	"annals/projections/searchindex"
)

// setBreaks sets breaks from those of the part of the section that contains the passage.
func (s *Source) setBreaks(p *passage) error {
	var all []int
	err := json.Unmarshal([]byte(p.breaks), &all)
	for i, b := range all {
		if page := p.startPage + 1 + i; page > s.StartPage && page <= s.EndPage {
			s.breaks = append(s.breaks, b-p.start)
		}
	}
	return err
}

// linkMatch makes the deep link of a passage that continues on further pages lead to the page
// with most of the query's terms, or to the first of those.
func (s *Source) linkMatch(terms []searchindex.Term) {
	if len(s.breaks) == 0 {
		return
	}
	page, best, from := s.StartPage, 0.0, 0
	for i, to := range append(s.breaks, len(s.body)) {
		to = min(max(to, from), len(s.body))
		if share := shareOf(terms, s.body[from:to]); share > best {
			page, best = s.StartPage+i, share
		}
		from = to
	}
	if page > s.StartPage {
		s.DeepLink = s.document.DeepLink(page)
	}
}

// shareOf returns the sum of the weights of those terms that a text has.
func shareOf(terms []searchindex.Term, text string) (sum float64) {
	has := make(map[string]bool)
	for _, t := range searchindex.Terms(text) {
		has[t] = true
	}
	for _, t := range terms {
		if has[t.Text] {
			sum += t.Weight
		}
	}
	return sum
}
