package projections

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"annals/events"
)

const (
	// replicaWithin is how long a replica may take to tell how far it is.
	replicaWithin = time.Second
	// replicaAgain is for how long one that failed is not asked.
	replicaAgain = 5 * time.Second
)

// replica is a copy of a read model's tables, with what is known of it.
type replica struct {
	*reader

	mu     sync.Mutex
	passed events.Position // at least: it only rises
	rests  time.Time       // until when it is not asked
}

func newReplica(db *sql.DB) *replica {
	return &replica{reader: &reader{from: db, db: db, arguments: arguments}}
}

// answers is the replica where it has passed what the tables hold at this
// moment, so that whoever has seen something sees it still; else the tables.
func (s *postgresStore) answers(ctx context.Context) *reader {
	primary := s.reads()
	if s.replica == nil {
		return primary
	}
	at, err := s.checkpoint(ctx)
	if err != nil || !s.replica.hasPassed(ctx, at) {
		return primary
	}
	copied := *s.replica.reader
	copied.otherwise = func() *reader {
		s.replica.rest()
		return primary
	}
	return &copied
}

// rest leaves a replica that failed alone for a while.
func (r *replica) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rests = time.Now().Add(replicaAgain)
}

func (r *replica) hasPassed(ctx context.Context, at events.Position) bool {
	r.mu.Lock()
	passed, rests := r.passed >= at, time.Now().Before(r.rests)
	r.mu.Unlock()
	if rests || passed {
		return passed && !rests
	}
	soon, cancel := context.WithTimeout(ctx, replicaWithin)
	defer cancel()
	var p events.Position
	err := r.QueryRowContext(soon, `SELECT position FROM checkpoint`).Scan(&p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		r.rests = time.Now().Add(replicaAgain)
	}
	r.passed = max(r.passed, p)
	return err == nil && r.passed >= at
}

func (r *replica) close() error {
	if r == nil {
		return nil
	}
	return r.reader.close()
}
