package admin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"annals/events"
)

// sparse is a log whose positions have gaps.
type sparse struct {
	records []events.Record
	read    int // records that were returned
}

func (l *sparse) Head(context.Context) (events.Position, error) {
	if len(l.records) == 0 {
		return 0, nil
	}
	return l.records[len(l.records)-1].Position, nil
}

func (l *sparse) Records(_ context.Context, after events.Position, limit int) ([]events.Record, events.Position, error) {
	i, found := slices.BinarySearchFunc(l.records, after, func(r events.Record, p events.Position) int { return int(r.Position - p) })
	if found {
		i++
	}
	batch := l.records[i:min(i+limit, len(l.records))]
	if l.read += len(batch); len(batch) > 0 {
		after = batch[len(batch)-1].Position
	}
	return batch, after, nil
}

// Pages have every selected event once, newest first, whatever the gaps between positions, and a page reads a limited
// part of the log.
func TestTailHasEachEventOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, gap := range []int64{1, 30, 100_000} {
		for _, size := range []int{0, 1, 7, 50_000} {
			log := new(sparse)
			for at := events.Position(0); len(log.records) < size; {
				if len(log.records) > size/2 { // the older half is dense
					at += events.Position(rng.Int64N(gap))
				}
				at++
				kind := "Common"
				if rng.IntN(5000) == 0 {
					kind = "Rare"
				}
				log.records = append(log.records, events.Record{Position: at, Type: kind, Stream: fmt.Sprint("s", rng.IntN(3))})
			}
			for _, tail := range []Tail{{Limit: 200}, {Limit: 7, Type: "Rare"}, {Limit: 3, Type: "None"}, {Limit: 199, Type: "Common", Stream: "s1"}, {Limit: 50, After: events.Position(gap * 9)}} {
				var got, want []events.Position
				for _, r := range slices.Backward(log.records) {
					if (tail.Type == "" || r.Type == tail.Type) && (tail.Stream == "" || r.Stream == tail.Stream) && r.Position > tail.After {
						want = append(want, r.Position)
					}
				}
				for {
					log.read = 0
					list, next, err := tail.Read(t.Context(), log)
					if err != nil || len(list) > tail.Limit || log.read > maxScanned+maxPart+page {
						t.Fatalf("%+v: %d events of %d read, %v", tail, len(list), log.read, err)
					}
					for _, r := range list {
						got = append(got, r.Position)
					}
					if tail.Before = next; next == 0 {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("gap %d, %d events, %+v: got %d events, want %d", gap, size, tail, len(got), len(want))
				}
			}
		}
	}
}
