package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"annals/events"
	"annals/queries/answer"

	"github.com/google/uuid"
)

// Answer is the result of Ask.
type Answer struct {
	Text       string
	Reasoning  string
	Confidence float64     // 0 to 1; below 0.3 there is no answer
	Documents  []uuid.UUID // documents of the passages that were considered
	Sources    []Source    // passages that the answer quotes; none if there is no answer
}

// askPassages is the number of passages considered for an answer. It is more than a page of
// results, because the section that defines a thing is often not the one that mentions it most.
const askPassages = 20

// Ask answers a question from the passages that Search finds for the user. If they
// contain no answer, Text says so and the confidence is below 0.3.
func (q *Searcher) Ask(ctx context.Context, user events.User, s Query) (a Answer, err error) {
	q, release, err := q.in(ctx, user, s.Generation)
	if err != nil {
		return Answer{}, err
	}
	defer func() { err = cmp.Or(err, release()) }()
	s.Limit, s.Literal = askPassages, true
	sources, err := q.Search(ctx, user, s)
	if err != nil {
		return Answer{}, err
	}
	passages := make([]answer.Passage, len(sources))
	var documents []uuid.UUID
	for _, id := range Shown(sources) {
		if !slices.Contains(documents, id) {
			documents = append(documents, id)
		}
	}
	for i, src := range sources {
		passages[i] = answer.Passage{
			Document: src.Title, Section: src.LeafTitle, Path: src.Path[:max(0, len(src.Path)-1)],
			Folder: src.Folder, Owner: ownerNames(src.Owner), Pages: [2]int{src.StartPage, src.EndPage}, Text: src.body, Opens: src.Text != src.body, Score: src.Score,
		}
	}
	found := answer.Find(s.Query, passages)
	var used []Source
	for _, i := range found.Used {
		used = append(used, sources[i])
	}
	return Answer{Text: found.Text, Reasoning: found.Reasoning, Confidence: found.Confidence, Documents: documents, Sources: used}, nil
}

// ownerNames formats principals for readers: "alice and the group staff".
func ownerNames(principals string) string {
	return strings.NewReplacer("user:", "", "group:", "the group ", ", ", " and ").Replace(principals)
}
