package commands

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

// countedReads is a driver that counts reads of the streams of documents.
type countedReads struct {
	events.Driver
	documents int
}

func (c *countedReads) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	if strings.HasPrefix(stream, "document-") {
		c.documents++
	}
	return c.Driver.ReadStream(ctx, stream, from, limit)
}

// If many documents were created under the same name, replacing one of them reads few
// streams. If there are too many, the error is permanent, so that the import does not retry
// forever.
func TestReplacementOfReusedName(t *testing.T) {
	reads := &countedReads{Driver: memory.New()}
	log := events.NewLog(reads)
	defer log.Close()
	folder := uuid.New()
	const name = "a.md"
	fill := func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			_, err := log.Append(t.Context(), events.DocumentStream(events.NamedDocumentID(folder, name, n)), events.NoStream, events.Cause{Causation: fmt.Sprint(n)},
				events.New{Data: events.DocumentImported{Version: 1, Folder: folder, Name: name, Content: events.Content{SHA256: shaA, Title: "A", TextStream: "text"}}},
				events.New{Data: events.DocumentDeleted{Version: 2}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	filled := 0
	file := ImportFile{Job: uuid.New(), Accepted: events.FileAccepted{Name: name, SHA256: shaB, Replace: true}, User: alice}
	for _, n := range []int{0, 1, 2, 3, 7, 40, 1000} {
		fill(filled, n)
		filled, reads.documents = n, 0
		claim, err := (&Handler{Log: log}).ClaimReplacement(t.Context(), file, folder)
		if err != nil || claim.Document != events.NamedDocumentID(folder, name, n) || claim.Outcome != events.OutcomeCreated {
			t.Errorf("ClaimReplacement after %d deleted documents = %+v, %v", n, claim, err)
		}
		if reads.documents > maxRecent+2*20 {
			t.Errorf("ClaimReplacement after %d deleted documents read %d streams", n, reads.documents)
		}
	}
	fill(filled, maxClaims)
	if _, err := (&Handler{Log: log}).ClaimReplacement(t.Context(), file, folder); !fault.Is(err, fault.Invalid) {
		t.Errorf("ClaimReplacement after %d deleted documents: %v, want invalid", maxClaims, err)
	}
}
