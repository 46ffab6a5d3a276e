package accounts

import (
	"context"
	"embed"

	"annals/events/sqldb"
)

//go:embed sql
var scripts embed.FS

// migrations are the names of the SQL scripts that upgrade the store. The script at index i
// upgrades it from version i to version i+1.
var migrations = []string{"accounts", "grants", "second", "user_limits", "user_tokens", "signed_in"}

// migrate upgrades the tables to the current version.
func migrate(ctx context.Context, db *sqldb.DB) error {
	var all []string
	for _, migration := range migrations {
		script, err := db.Dialect().Script(scripts, "sql", migration)
		if err != nil {
			return err
		}
		all = append(all, script)
	}
	return db.Migrate(ctx, all)
}
