package control

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Note stores a text under a name, for commands that run while a server does. It
// replaces the previous text.
func (c *Store) Note(ctx context.Context, name, text string) error {
	_, err := c.db.Exec(ctx, `INSERT INTO notes (name, text, noted) VALUES ($1, $2, `+c.clock+`)
		ON CONFLICT (name) DO UPDATE SET text = excluded.text, noted = excluded.noted`, name, text)
	if err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return nil
}

// Noted returns the text stored under a name and when it was stored, or "" if there
// is none.
func (c *Store) Noted(ctx context.Context, name string) (text string, at time.Time, err error) {
	var noted int64
	err = c.db.Row(ctx, `SELECT text, noted FROM notes WHERE name = $1`, name).Scan(&text, &noted)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("read the note %s: %w", name, err)
	}
	return text, time.UnixMilli(noted).UTC(), nil
}
