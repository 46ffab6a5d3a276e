package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Note keeps a text under a name, in place of what was noted before, for
// commands that run beside the server.
func (c *Control) Note(ctx context.Context, name, text string) error {
	_, err := c.exec(ctx, `INSERT INTO notes (name, text, noted) VALUES ($1, $2, `+c.clock+`)
		ON CONFLICT (name) DO UPDATE SET text = excluded.text, noted = excluded.noted`, name, text)
	if err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return nil
}

// Noted returns what was noted last under a name, and when; "" for nothing.
func (c *Control) Noted(ctx context.Context, name string) (text string, at time.Time, err error) {
	var noted int64
	err = c.db.QueryRowContext(ctx, `SELECT text, noted FROM notes WHERE name = $1`, name).Scan(&text, &noted)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("read the note %s: %w", name, c.told(err))
	}
	return text, time.UnixMilli(noted).UTC(), nil
}
