package signin

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
)

// store is the database of the accounts. Its statements are those that both
// engines know; engine holds what is left.
type store struct {
	*sql.DB
	engine
}

// engine is what one engine does otherwise than the other.
type engine struct {
	name string // of the folder of its scripts
	// told gives an error of the engine its kind.
	told func(error) error
	// again reports whether a statement failed because another was in its way.
	again func(error) bool
	// text returns a text as it can be compared with what is stored.
	text func(string) string
	// hold ends a SELECT whose rows are to stay as they are until what is made
	// from them is there, as they do where there is one writer at a time.
	hold string
	// alone is the statement of keepOut.
	alone string
	// snapshot reads everything as of one moment.
	snapshot *sql.TxOptions
	// patience bounds a call; 0 where nothing can stay away.
	patience time.Duration
}

//go:embed sql
var scripts embed.FS

// migrations name the scripts that bring a store from the version that is their
// index to the next: there is one for each engine.
var migrations = []string{"accounts", "grants", "second", "user_limits", "user_tokens"}

// script returns the script of a migration.
func (e engine) script(migration string) (string, error) {
	text, err := scripts.ReadFile("sql/" + e.name + "/" + migration + ".sql")
	return string(text), err
}

// checkVersion refuses a store that a newer program has made.
func checkVersion(version int) error {
	if version > len(migrations) {
		return fault.Errorf(fault.Invalid, "the account store has version %d, this program knows %d: use a newer program", version, len(migrations))
	}
	return nil
}

// within bounds a call to a server that may have vanished.
func (s *store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.patience == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.patience)
}

// tell gives an error its kind. It is for the caller whose context that was.
func (s *store) tell(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, sql.ErrNoRows), ctx.Err() != nil:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Hide(fault.Unavailable, "the database does not answer at the moment", err)
	}
	return s.told(err)
}

func (s *store) args(args []any) []any {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = s.text(text)
		}
	}
	return args
}

// row is a *sql.Row whose errors have a kind.
type row struct {
	*sql.Row
	done func(error) error
}

func (r row) Scan(dest ...any) error { return r.done(r.Row.Scan(dest...)) }

// row asks for one row.
func (s *store) row(ctx context.Context, statement string, args ...any) row {
	bounded, cancel := s.within(ctx)
	return row{s.QueryRowContext(bounded, statement, s.args(args)...), func(err error) error {
		cancel()
		return s.tell(ctx, err)
	}}
}

// scanner is a row of any kind.
type scanner interface{ Scan(dest ...any) error }

// collect asks for all rows.
func collect[T any](ctx context.Context, s *store, scan func(scanner) (T, error), statement string, args ...any) (all []T, err error) {
	bounded, cancel := s.within(ctx)
	defer cancel()
	rows, err := s.QueryContext(bounded, statement, s.args(args)...)
	if err != nil {
		return nil, s.tell(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, s.tell(ctx, err)
		}
		all = append(all, one)
	}
	return all, s.tell(ctx, rows.Err())
}

// exec runs one statement and returns how many rows it has changed.
func (s *store) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		result, err := s.ExecContext(ctx, statement, s.args(args)...)
		if err == nil {
			changed, err = result.RowsAffected()
		}
		return err
	})
	return changed, err
}

// together runs statements in one transaction. They may be run again.
func (s *store) together(ctx context.Context, run func(ctx context.Context, tx *transaction) error) error {
	return s.retry(ctx, func(ctx context.Context) error {
		tx, err := s.begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := run(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// transaction runs statements that count together or not at all.
type transaction struct {
	*sql.Tx
	store *store
}

func (s *store) begin(ctx context.Context) (*transaction, error) {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &transaction{tx, s}, nil
}

// keepOut keeps all other transactions that call it waiting.
func (t *transaction) keepOut(ctx context.Context) error {
	if t.store.alone == "" {
		return nil // there is one writer at a time
	}
	_, err := t.ExecContext(ctx, t.store.alone)
	return err
}

func (t *transaction) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	result, err := t.ExecContext(ctx, statement, t.store.args(args)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// retry calls do, and a few times more where others were in its way.
func (s *store) retry(ctx context.Context, do func(context.Context) error) error {
	bounded, cancel := s.within(ctx)
	defer cancel()
	const tries = 5
	err := do(bounded)
	for n := 1; n < tries && err != nil && s.again(err); n++ {
		err = do(bounded)
	}
	return s.tell(ctx, err)
}

// keepNewest removes a user's rows from a table but for so many.
func (s *store) keepNewest(ctx context.Context, table, key, created, user string, most int) error {
	_, err := s.exec(ctx, fmt.Sprintf(`
		DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s WHERE "user" = $1 ORDER BY %[3]s DESC LIMIT 1000000 OFFSET $2)`,
		table, key, created), user, most)
	return err
}
