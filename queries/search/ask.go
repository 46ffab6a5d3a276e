package search

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"annals/events"
	"annals/projections/searchindex"
	"annals/queries/access"
	"annals/queries/answer"
	"annals/queries/compose"
	"annals/queries/followup"
	"annals/queries/freshness"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Question is a question to Ask.
type Question struct {
	Search Query // Limit and Cursor are ignored
	// History has the questions that were asked before, oldest first, and their answers. A
	// question such as "And in Germany?" is understood by them.
	History []followup.Turn
	// Sentence is called with each sentence that a language model composed, as soon as it was
	// checked. It may be nil. The Answer is what counts: passages may be withdrawn meanwhile.
	Sentence func(text string) error
	// Waiting is called before a language model is asked, and resume after it replied. It may be nil.
	Waiting     func() (resume func())
	Correlation string // id of the request, for the record of the answer
}

// Answer is the result of Ask.
type Answer struct {
	Text       string
	Reasoning  string
	Confidence float64     // 0 to 1; below 0.3 there is no answer
	Documents  []uuid.UUID // documents of the passages that were considered
	Sources    []Source    // passages that the answer quotes; none if there is no answer
	Composed   Composed
}

// askPassages is the number of passages considered for an answer. It is more than a page of
// results, because the section that defines a thing is often not the one that mentions it most.
const askPassages = 20

// Ask answers a question from the passages that Search finds for the user. If they
// contain no answer, Text says so and the confidence is below 0.3. With a Composer, a language
// model writes the answer from the passages; if it does not, the passages are quoted.
func (q *Searcher) Ask(ctx context.Context, user events.User, s Question) (a Answer, err error) {
	bound, release, err := q.in(ctx, user, s.Search.Generation)
	if err != nil {
		return Answer{}, err
	}
	defer func() { err = cmp.Or(err, release()) }()
	asked := s.Search.Query
	understood := followup.Resolve(asked, s.History)
	s.Search.Query = understood.Text
	s.Search.Limit, s.Search.Literal = askPassages, true
	sources, err := bound.Search(ctx, user, s.Search)
	if err != nil {
		return Answer{}, err
	}
	a.Documents = documentsOf(nil, sources)
	if q.Composer != nil && len(sources) > 0 {
		composed, err := bound.compose(ctx, q, user, s, asked, sources)
		composed.Documents = a.Documents
		if err != nil || len(composed.Sources) > 0 {
			return composed, err
		}
		a.Composed = composed.Composed
		// The model took its time: see what may be read now.
		if sources, err = bound.Search(ctx, user, s.Search); err != nil {
			return a, err
		}
		a.Documents = documentsOf(a.Documents, sources)
	}
	fronts, err := bound.fronts(ctx, sources)
	if err != nil {
		return a, err
	}
	sources = append(sources, fronts...)
	found := find(understood, passagesOf(sources))
	if a.Composed.Outcome == compose.NoAnswer {
		found = found.Doubted("The language model that read the passages found no answer in them.")
	}
	for _, i := range found.Used {
		a.Sources = append(a.Sources, sources[i])
	}
	a.Text, a.Reasoning, a.Confidence = found.Text, found.Reasoning, found.Confidence
	return a, nil
}

// find answers a question from the passages. One that refers to an earlier question is asked of the
// documents that mention what it refers to; if there it has no answer, and can be understood alone, of all.
func find(q followup.Question, passages []answer.Passage) answer.Answer {
	if q.About == "" {
		return answer.Find(q.Own, passages)
	}
	documents := make(map[string]bool)
	for _, p := range passages {
		documents[p.ID] = documents[p.ID] || answer.Mentions(p, q.About)
	}
	var about []answer.Passage
	var indexes []int
	for i, p := range passages {
		if documents[p.ID] {
			about, indexes = append(about, p), append(indexes, i)
		}
	}
	found := answer.FindAbout(q.Own, q.Subject, q.Before, about)
	if !found.Found && q.Whole {
		return answer.Find(q.Own, passages)
	}
	for i, at := range found.Used {
		found.Used[i] = indexes[at]
	}
	return found
}

// documentsOf adds the documents of sources to documents.
func documentsOf(documents []uuid.UUID, sources []Source) []uuid.UUID {
	for _, id := range Shown(sources) {
		if !slices.Contains(documents, id) {
			documents = append(documents, id)
		}
	}
	return documents
}

func passagesOf(sources []Source) []answer.Passage {
	passages := make([]answer.Passage, len(sources))
	for i, src := range sources {
		passages[i] = answer.Passage{
			ID: src.Document.String(), Changed: src.document.UpdatedAt,
			Document: src.Title, Section: src.LeafTitle, Path: src.Path[:max(0, len(src.Path)-1)],
			Folder: src.Folder, Owner: ownerNames(src.Owner), Pages: [2]int{src.StartPage, src.EndPage}, Text: src.body, Opens: src.Text != src.body, Front: src.front, Score: src.Score,
		}
	}
	return passages
}

// ownerNames formats principals for readers: "alice and the group staff".
func ownerNames(principals string) string {
	return strings.NewReplacer("user:", "", "group:", "the group ", ", ", " and ").Replace(principals)
}

// current returns those sources as they are now. ok is false if the user may no longer read one of them, or
// if it has changed.
func (q *Searcher) current(ctx context.Context, user events.User, s Query, sources []Source) (now []Source, ok bool, err error) {
	hits := make([]searchindex.Hit, len(sources))
	for i, src := range sources {
		hits[i] = searchindex.Hit{ID: src.id, Score: src.Score}
	}
	c := check{Searcher: q, user: user, search: s, versions: make(map[string]int)}
	now, err = c.recheck(ctx, hits)
	switch {
	case errors.Is(err, errOvertaken):
		return nil, false, nil
	case err != nil:
		return nil, false, freshness.Wrap(err, "passages")
	case len(now) != len(sources):
		return nil, false, nil
	}
	v, err := access.New(ctx, q.Models, user)
	if err != nil {
		return nil, false, err
	}
	duplicates := []string{}
	for _, src := range sources {
		for _, d := range src.Duplicates {
			duplicates = append(duplicates, d.Document.String())
		}
	}
	readable, err := vault.ByID(ctx, v, duplicates)
	if err != nil {
		return nil, false, freshness.Wrap(err, "documents")
	}
	for i := range now {
		if now[i].id != sources[i].id || now[i].body != sources[i].body {
			return nil, false, nil
		}
		now[i].DeepLink = sources[i].DeepLink
		for _, d := range sources[i].Duplicates {
			if _, ok := readable[d.Document.String()]; ok {
				now[i].Duplicates = append(now[i].Duplicates, d)
			}
		}
	}
	return now, true, addOwners(ctx, v, now)
}
