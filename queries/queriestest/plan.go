package queriestest

import (
	"strings"
	"testing"

	"annals/projections"
)

// Statement is an SQL statement with its number of arguments.
type Statement struct {
	SQL  string
	Args int
}

// NoScans fails the test if a statement reads a whole table of the vault.
func NoScans(t *testing.T, statements map[string]Statement) {
	t.Helper()
	db := Open(t).Models.Vault.DB()
	for name, statement := range statements {
		args := make([]any, statement.Args)
		for i := range args {
			args[i] = "[]"
		}
		type step struct {
			id, parent, unused int
			detail             string
		}
		plan, err := projections.List(t.Context(), db, func(s *step) []any { return []any{&s.id, &s.parent, &s.unused, &s.detail} },
			"EXPLAIN QUERY PLAN "+statement.SQL, args...)
		if err != nil || len(plan) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, s := range plan {
			for _, table := range []string{"documents", "d", "c", "tags", "t", "folders", "f", "permissions", "p", "moved", "versions", "v", "w", "o"} {
				if s.detail == "SCAN "+table || strings.HasPrefix(s.detail, "SCAN "+table+" ") {
					t.Errorf("%s: %s in %v", name, s.detail, plan)
				}
			}
		}
		t.Logf("%s: %v", name, plan)
	}
}
