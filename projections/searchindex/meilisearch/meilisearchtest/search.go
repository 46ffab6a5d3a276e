package meilisearchtest

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"annals/projections/searchindex"
)

var (
	validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,511}$`)
	word    = regexp.MustCompile(`[\pL\pN\pM]+`)
	quoted  = regexp.MustCompile(`-?"[^"]*"`)
	clause  = regexp.MustCompile(`^(\w+) (?:EXISTS|= (\S+)|IN \[(.*)\])$`)
)

// filter parses clauses that are joined by AND: attribute EXISTS, = value or IN
// [value, …].
func (x *index) filter(text string) (pass func(document) bool, err error) {
	var all []func(document) bool
	for _, part := range strings.Split(text, " AND ") {
		if text == "" {
			break
		}
		m := clause.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("cannot parse the filter %q", part)
		}
		if !slices.Contains(x.filterable, m[1]) {
			return nil, fmt.Errorf("attribute `%s` is not filterable", m[1])
		}
		wanted := strings.Split(m[2]+m[3], ", ")
		all = append(all, func(d document) bool {
			value, there := d[m[1]]
			if strings.HasSuffix(part, "EXISTS") {
				return there
			}
			return slices.ContainsFunc(values(value), func(v string) bool { return slices.Contains(wanted, v) })
		})
	}
	return func(d document) bool {
		return !slices.ContainsFunc(all, func(pass func(document) bool) bool { return !pass(d) })
	}, nil
}

func values(value any) (all []string) {
	list, ok := value.([]any)
	if !ok {
		return []string{fmt.Sprint(value)}
	}
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// content is the searchable text of a document.
type content struct {
	words []string // words of all texts, with a gap between two texts
	holds map[string]bool
}

func newContent(d document) *content {
	c := &content{holds: make(map[string]bool)}
	for _, attribute := range []string{"title", "section", "text"} {
		text, _ := d[attribute].(string)
		c.words = append(append(c.words, word.FindAllString(text, -1)...), "")
	}
	for _, w := range c.words {
		c.holds[w] = true
	}
	return c
}

type searchQuery struct {
	IndexUID             string
	Q                    string
	Filter               string
	MatchingStrategy     string
	Offset, Limit        int
	AttributesToRetrieve []string
	Facets               []string
	FederationOptions    *struct{ Weight float64 }
}

type hit struct {
	document
	id    string
	score float64
}

// search returns the documents that a query finds: first those with all words of the
// query, then those with all words but the last, then without the last two, and so on.
// Words in quotes form a phrase, which a document has to contain, or must not contain if a
// hyphen is before it. A query without words finds all documents.
func (x *index) search(q searchQuery) ([]hit, error) {
	if q.MatchingStrategy != "" && q.MatchingStrategy != "last" {
		return nil, fmt.Errorf("unknown matching strategy `%s`", q.MatchingStrategy)
	}
	pass, err := x.filter(q.Filter)
	if err != nil {
		return nil, err
	}
	var required, excluded [][]string
	rest := quoted.ReplaceAllStringFunc(q.Q, func(part string) string {
		if words := word.FindAllString(part, -1); strings.HasPrefix(part, "-") {
			excluded = append(excluded, words)
		} else {
			required = append(required, words)
		}
		return ""
	})
	words := word.FindAllString(rest, -1)
	var hits []hit
	for id, d := range x.documents {
		text := x.contents[id]
		lacks := func(words []string) bool { return !phrase(words, text.words) }
		contains := func(words []string) bool { return phrase(words, text.words) }
		if slices.ContainsFunc(required, lacks) || slices.ContainsFunc(excluded, contains) {
			continue
		}
		score := 1.0
		if len(words) > 0 {
			score = matched(words, text)
		}
		if score > 0 && pass(d) {
			hits = append(hits, hit{d, id, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	return hits, nil
}

// matched returns how many words of the query come before the first word that the text
// lacks, as a share of all its words. Words of similar spelling count, but for a little
// less.
func matched(words []string, text *content) float64 {
	mistakes := 0.0
	for i, w := range words {
		if text.holds[w] {
			continue
		}
		if !text.alike(w) {
			return max(0, float64(i)/float64(len(words))-mistakes)
		}
		mistakes += 1e-6
	}
	return 1 - mistakes
}

// alike reports whether a text has a word in another spelling.
func (c *content) alike(word string) bool {
	most := searchindex.Typos(word)
	if most == 0 {
		return false
	}
	for w := range c.holds {
		if searchindex.Within(word, w, most) {
			return true
		}
	}
	return false
}

func phrase(words, text []string) bool {
	for i := range text {
		if i+len(words) <= len(text) && slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

func (s *Server) multiSearch(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Federation *struct{ Offset, Limit int }
		Queries    []searchQuery
	}
	if !read(w, r, &q) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	best := make(map[string]hit)
	results := []any{}
	for _, one := range q.Queries {
		x := s.indexes[one.IndexUID]
		if x == nil {
			fail(w, http.StatusNotFound, "index_not_found", fmt.Sprintf("Index `%s` not found.", one.IndexUID))
			return
		}
		hits, err := x.search(one)
		if err != nil {
			fail(w, http.StatusBadRequest, "invalid_search_filter", err.Error())
			return
		}
		if q.Federation == nil {
			results = append(results, map[string]any{
				"indexUid": one.IndexUID, "hits": x.page(hits, one, one.Offset, one.Limit), "estimatedTotalHits": len(hits), "facetDistribution": facets(hits, one.Facets),
			})
			continue
		}
		for _, h := range hits {
			if h.score *= one.FederationOptions.Weight; h.score > best[h.id].score {
				best[h.id] = h
			}
		}
	}
	if q.Federation == nil {
		reply(w, http.StatusOK, map[string]any{"results": results})
		return
	}
	var merged []hit
	for _, h := range best {
		merged = append(merged, h)
	}
	slices.SortFunc(merged, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	first := q.Queries[0]
	page := s.indexes[first.IndexUID].page(merged, first, q.Federation.Offset, q.Federation.Limit)
	reply(w, http.StatusOK, map[string]any{"hits": page, "estimatedTotalHits": len(merged)})
}

// facets counts the values of attributes of hits.
func facets(hits []hit, attributes []string) map[string]map[string]int {
	counts := make(map[string]map[string]int)
	for _, a := range attributes {
		counts[a] = make(map[string]int)
		for _, h := range hits {
			if value, there := h.document[a]; there {
				for _, v := range values(value) {
					counts[a][v]++
				}
			}
		}
	}
	return counts
}

func (x *index) page(hits []hit, q searchQuery, offset, limit int) []document {
	page := []document{}
	for _, h := range hits[min(offset, len(hits)):min(offset+limit, len(hits))] {
		page = append(page, x.shown(h.document, q.AttributesToRetrieve))
	}
	return page
}
