// Package answerlog records the answers that a language model composed, with the prompt, the
// model and the passages, and counts what they cost. They are not events of the log, because
// they change nothing, and because they repeat texts of documents: a record is deleted after
// a retention period, and its texts by the next sweep after one of its documents is deleted.
//
// It imports endpoint/llm, events, events/fault and events/sqldb.
package answerlog

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"annals/endpoint/llm"
	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the engine of the file
)

// File is the name of the store in the data folder.
const File = "answers.db"

//go:embed sql
var scripts embed.FS

var tables = sqldb.Store{
	Schema: "answers", Table: "spent", Index: "answers_actor", Scripts: scripts, Script: "answers", Connections: 2,
	Pragmas: []string{"auto_vacuum(INCREMENTAL)", "secure_delete(ON)"},
}

// Limits limit what is spent on a day, in UTC. 0 means no limit.
type Limits struct {
	Tokens, UserTokens int64   // of prompts and replies; of all users, and of each
	Cost, UserCost     float64 // in the currency of the prices
}

// Options configure a Log.
type Options struct {
	Limits
	Retention time.Duration // after which records are deleted; 0 means never
	Bytes     int64         // approximate limit of the size of all records, beyond which the oldest are deleted; 0 means unlimited
	Logger    *slog.Logger
	Now       func() time.Time // time.Now if nil
}

// Log keeps records and the budget. Its methods are safe for concurrent use.
type Log struct {
	Options
	db *sqldb.DB
}

// Open opens the log in a file. If the file does not exist, it creates one that only its
// owner can read.
func Open(ctx context.Context, path string, o Options) (*Log, error) {
	db, err := tables.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the record of answers %s: %w", path, err)
	}
	return begin(db, o), nil
}

// OpenShared opens the log in a database that several nodes share. If the tables do not exist, it
// creates them, or returns nil unless create is set.
func OpenShared(ctx context.Context, d *sqldb.Postgres, o Options, create bool) (*Log, error) {
	db, err := tables.OpenShared(ctx, d, create)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open the record of answers %s: %w", d, err)
	case db == nil:
		return nil, nil
	}
	return begin(db, o), nil
}

func begin(db *sqldb.DB, o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Log{o, db}
}

// Close closes the store.
func (l *Log) Close() error { return l.db.Close() }

// Record is the record of an answer for which a language model was asked.
type Record struct {
	ID          uuid.UUID
	Time        time.Time
	Actor       events.Principal
	Correlation string // id of the request
	Model       string
	Outcome     string
	Usage       llm.Usage
	Question    string
	// Text is nil if one of the documents was deleted since.
	Text *Text
	// Documents are those of the passages in the prompt that were not deleted since.
	Documents []uuid.UUID
}

// Text is the part of a record that repeats texts of documents.
type Text struct {
	Prompt   []llm.Message `json:"prompt"`
	Passages []Passage     `json:"passages"`
	Reply    string        `json:"reply"`  // as the model wrote it
	Answer   string        `json:"answer"` // the checked sentences that were sent
	Dropped  int           `json:"dropped"`
}

// Passage is a passage in a prompt, in the order of their numbers there.
type Passage struct {
	ID       string    `json:"id"` // document, version, section and number
	Document uuid.UUID `json:"document"`
	Title    string    `json:"title"`
	Section  string    `json:"section"`
	Page     int       `json:"page,omitempty"`
}

// overhead is the approximate size of a record and its index entries, not counting the texts.
const overhead = 600

// Add stores a record with a new id, which it returns.
func (l *Log) Add(ctx context.Context, r Record) (uuid.UUID, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return id, err
	}
	body, err := json.Marshal(r.Text)
	if err != nil {
		return id, err
	}
	err = l.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		const insert = `INSERT INTO answers (id, time, actor, correlation, model, outcome, input_tokens, output_tokens, cost, question, body, size)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING seq`
		var seq int64
		if err := tx.Row(ctx, insert, id.String(), l.Now().UnixMicro(), string(r.Actor), r.Correlation, r.Model, r.Outcome,
			r.Usage.Input, r.Usage.Output, millionths(r.Usage.Cost), r.Question, string(body), overhead+len(r.Question)+len(body)).Scan(&seq); err != nil {
			return err
		}
		for _, document := range r.Documents {
			if _, err := tx.Exec(ctx, `INSERT INTO answer_documents (answer, document) VALUES ($1, $2)`, seq, document.String()); err != nil {
				return err
			}
		}
		return nil
	})
	return id, err
}

func millionths(cost float64) int64 { return int64(math.Round(min(cost, 1e9) * 1e6)) }

// Find returns a record. The error is of kind fault.NotFound if there is none. The caller must check who may
// see it.
func (l *Log) Find(ctx context.Context, id uuid.UUID) (r Record, err error) {
	var seq, at, cost int64
	var body string
	const query = `SELECT seq, id, time, actor, correlation, model, outcome, input_tokens, output_tokens, cost, question, body FROM answers WHERE id = $1`
	err = l.db.Row(ctx, query, id.String()).Scan(&seq, &r.ID, &at, &r.Actor, &r.Correlation, &r.Model, &r.Outcome, &r.Usage.Input, &r.Usage.Output, &cost, &r.Question, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return r, fault.Errorf(fault.NotFound, "there is no record of answer %s", id)
	}
	if err != nil {
		return r, err
	}
	r.Time, r.Usage.Cost = time.UnixMicro(at).UTC(), float64(cost)/1e6
	if body != "" {
		if err := json.Unmarshal([]byte(body), &r.Text); err != nil {
			return r, fmt.Errorf("read the record of answer %s: %w", id, err)
		}
	}
	r.Documents, err = sqldb.List(ctx, l.db, func(d *uuid.UUID) []any { return []any{d} }, `SELECT document FROM answer_documents WHERE answer = $1 ORDER BY document`, seq)
	return r, err
}

// List returns records of a user, or of all users if user is "", without Text and Documents, the newest first. If
// before is not uuid.Nil, they are older than the record with that id. If that record was deleted, there
// are none, because the oldest are deleted first.
func (l *Log) List(ctx context.Context, user events.Principal, before uuid.UUID, limit int) ([]Record, error) {
	where, args := `TRUE`, []any{limit}
	if user != "" {
		args = append(args, string(user))
		where += ` AND actor = $2`
	}
	if before != uuid.Nil {
		args = append(args, before.String())
		where += fmt.Sprintf(` AND seq < (SELECT seq FROM answers WHERE id = $%d)`, len(args))
	}
	type row struct {
		Record
		at, cost int64
	}
	rows, err := sqldb.List(ctx, l.db, func(r *row) []any {
		return []any{&r.ID, &r.at, &r.Actor, &r.Correlation, &r.Model, &r.Outcome, &r.Usage.Input, &r.Usage.Output, &r.cost, &r.Question}
	}, `SELECT id, time, actor, correlation, model, outcome, input_tokens, output_tokens, cost, question FROM answers WHERE `+where+` ORDER BY seq DESC LIMIT CAST($1 AS INTEGER)`, args...)
	records := make([]Record, len(rows))
	for i, r := range rows {
		r.Time, r.Usage.Cost = time.UnixMicro(r.at).UTC(), float64(r.cost)/1e6
		records[i] = r.Record
	}
	return records, err
}

// Reserve implements compose.Budget. What is reserved when the program ends unexpectedly counts as spent.
func (l *Log) Reserve(ctx context.Context, user events.Principal, most llm.Usage) (settle func(llm.Usage), err error) {
	day := l.Now().UTC().Format(time.DateOnly)
	if err := l.spend(ctx, day, user, int64(most.Input+most.Output), millionths(most.Cost), true); err != nil {
		return nil, err
	}
	return func(u llm.Usage) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		tokens, cost := int64(u.Input+u.Output)-int64(most.Input+most.Output), millionths(u.Cost)-millionths(most.Cost)
		if err := l.spend(ctx, day, user, tokens, cost, false); err != nil {
			l.Logger.Warn("cannot count what an answer of the language model used: its limits count the most that it may use", "error", err)
		}
	}, nil
}

// spend adds to the sums of a day. If limited is set, it fails if a sum would exceed its limit.
func (l *Log) spend(ctx context.Context, day string, user events.Principal, tokens, cost int64, limited bool) error {
	return l.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, of := range []struct {
			principal string
			tokens    int64
			cost      float64
		}{{"", l.Tokens, l.Cost}, {string(user), l.UserTokens, l.UserCost}} {
			const add = `INSERT INTO spent (day, principal, tokens, cost) VALUES ($1, $2, $3, $4)
				ON CONFLICT (day, principal) DO UPDATE SET tokens = spent.tokens + excluded.tokens, cost = spent.cost + excluded.cost RETURNING tokens, cost`
			var sum, paid int64
			if err := tx.Row(ctx, add, day, of.principal, tokens, cost).Scan(&sum, &paid); err != nil {
				return err
			}
			if limited && (of.tokens > 0 && sum > of.tokens || of.cost > 0 && paid > millionths(of.cost)) {
				return fault.Errorf(fault.Exhausted, "the language model was used as much today as its limits allow")
			}
		}
		return nil
	})
}

// Spent returns what a user, or all users if user is "", spent today.
func (l *Log) Spent(ctx context.Context, user events.Principal) (tokens int64, cost float64, err error) {
	var paid int64
	err = l.db.Row(ctx, `SELECT tokens, cost FROM spent WHERE day = $1 AND principal = $2`, l.Now().UTC().Format(time.DateOnly), string(user)).Scan(&tokens, &paid)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return tokens, float64(paid) / 1e6, err
}

// batch is how many rows one statement reads or deletes. More would block writers for too
// long.
const batch = 500

// Sweep deletes the texts of records that rest on documents that were deleted, and records
// that are too old or too many. exist returns those of some documents that exist.
func (l *Log) Sweep(ctx context.Context, exist func(context.Context, []string) (map[string]bool, error)) error {
	for last := ""; ; {
		documents, err := sqldb.List(ctx, l.db, func(d *string) []any { return []any{d} },
			`SELECT DISTINCT document FROM answer_documents WHERE document > $1 ORDER BY document LIMIT $2`, last, batch)
		if err != nil || len(documents) == 0 {
			return errors.Join(err, l.forget(ctx))
		}
		last = documents[len(documents)-1]
		live, err := exist(ctx, documents)
		if err != nil {
			return err
		}
		for _, gone := range slices.DeleteFunc(documents, func(d string) bool { return live[d] }) {
			if err := l.erase(ctx, gone); err != nil {
				return err
			}
		}
	}
}

// erase deletes the texts of the records that rest on a document.
func (l *Log) erase(ctx context.Context, document string) error {
	return l.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE answers SET body = '', size = $1 WHERE seq IN (SELECT answer FROM answer_documents WHERE document = $2)`, overhead, document)
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM answer_documents WHERE document = $1`, document)
		}
		return err
	})
}

// forget deletes records that are too old, and then the oldest ones until the size is within
// its limit.
func (l *Log) forget(ctx context.Context) error {
	if l.Retention > 0 {
		before := l.Now().Add(-l.Retention)
		if _, err := l.db.Exec(ctx, `DELETE FROM spent WHERE day < $1`, before.UTC().Format(time.DateOnly)); err != nil {
			return err
		}
		for n := batch; n == batch; {
			var err error
			if n, err = l.remove(ctx, `SELECT seq FROM answers WHERE time < $1 ORDER BY time, seq LIMIT $2`, before.UnixMicro(), batch); err != nil {
				return err
			}
		}
	}
	for l.Bytes > 0 {
		var kept int64
		if err := l.db.Row(ctx, `SELECT coalesce(sum(size), 0) FROM answers`).Scan(&kept); err != nil || kept <= l.Bytes {
			return err
		}
		if _, err := l.remove(ctx, `SELECT seq FROM answers ORDER BY time, seq LIMIT $1`, batch/10); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the records that a query finds. For a database file it also returns the free
// pages to the file system.
func (l *Log) remove(ctx context.Context, query string, args ...any) (n int, err error) {
	err = l.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM answer_documents WHERE answer IN (`+query+`)`, args...); err != nil {
			return err
		}
		removed, err := tx.Exec(ctx, `DELETE FROM answers WHERE seq IN (`+query+`)`, args...)
		n = int(removed)
		return err
	})
	if err == nil && n > 0 && !l.db.Shared() {
		_, err = l.db.Exec(ctx, `PRAGMA incremental_vacuum(2000)`)
	}
	return n, err
}
