package queries

import (
	"context"
	"slices"
	"strings"

	"annals/events"
	"annals/queries/answer"

	"github.com/google/uuid"
)

// askPassages is how many passages an answer is looked for in.
const askPassages = 10

// Ask answers a question from the passages that Search finds for the user, and
// from nothing else. Where they hold no answer it says so, with a confidence
// under 0.3.
func (q *Queries) Ask(ctx context.Context, user events.User, s Search) (Answer, error) {
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

// ownerNames returns the names of users, or groups, as people write them.
func ownerNames(principals string) string {
	return strings.NewReplacer("user:", "", "group:", "the group ", ", ", " and ").Replace(principals)
}
