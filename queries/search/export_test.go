package search

import (
	"context"
	"testing"
	"time"

	"annals/events"
	"annals/queries/access"
	"annals/queries/queriestest"
)

func init() { compareTime = time.Minute } // machines that run tests are busy

// SetLabelWait sets how long searches wait for moves and changes of tags, until the test
// ends.
func SetLabelWait(t *testing.T, d time.Duration) {
	before := labelWait
	labelWait = d
	t.Cleanup(func() { labelWait = before })
}

// In returns a searcher that reads only one generation of the passages.
func (q *Searcher) In(ctx context.Context, user events.User, generation int) (bound *Searcher, release func() error, err error) {
	return q.in(ctx, user, generation)
}

// NameQueries returns the queries for documents by their names, for each kind of user.
func NameQueries() map[string]queriestest.Statement {
	reader := access.Viewer{User: queriestest.Alice}
	granted, _ := reader.WithReadable("")
	folder, _ := reader.WithReadable("a folder")
	return map[string]queriestest.Statement{
		"granted": {SQL: granted + documentsNamed, Args: 5},
		"folder":  {SQL: folder + documentsNamed, Args: 5},
		"all":     {SQL: allDocumentsNamed, Args: 4},
	}
}
