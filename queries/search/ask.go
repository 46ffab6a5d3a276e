package search

import (
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
	Confidence float64     // 0 to 1; under 0.3 it abstains
	Documents  []uuid.UUID // documents that were searched
	Sources    []Source    // passages that the answer is based on; none if it abstains
}

// askPassages is the number of passages searched for an answer.
const askPassages = 10

// Ask answers a question using only the passages that Search finds for the user. If
// they hold no answer it says so, with a confidence below 0.3.
func (q *Searcher) Ask(ctx context.Context, user events.User, s Query) (Answer, error) {
	s.Limit = askPassages
	sources, err := q.Search(ctx, user, s)
	if err != nil {
		return Answer{}, err
	}
	passages := make([]answer.Passage, len(sources))
	var documents []uuid.UUID
	for i, src := range sources {
		if !slices.Contains(documents, src.Document) {
			documents = append(documents, src.Document)
		}
		passages[i] = answer.Passage{
			Document: src.Title, Section: src.LeafTitle, Path: src.Path[:max(0, len(src.Path)-1)],
			Folder: src.Folder, Owner: ownerNames(src.Owner), Pages: [2]int{src.StartPage, src.EndPage}, Text: src.body, Score: src.Score,
		}
	}
	a := answer.Find(s.Query, passages)
	var used []Source
	for _, i := range a.Used {
		used = append(used, sources[i])
	}
	return Answer{Text: a.Text, Reasoning: a.Reasoning, Confidence: a.Confidence, Documents: documents, Sources: used}, nil
}

// ownerNames formats principals for readers: "alice and the group staff".
func ownerNames(principals string) string {
	return strings.NewReplacer("user:", "", "group:", "the group ", ", ", " and ").Replace(principals)
}
