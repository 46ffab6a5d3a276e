package tables

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"annals/events/sqldb"
	"annals/projections/projectionstest/golden"
	"annals/projections/readmodel"
	_ "annals/projections/readmodel/passages" // registers itself
	_ "annals/projections/readmodel/vectors"  // registers itself
)

var sqlComment = regexp.MustCompile(`--[^\n]*`)

// The schema of a read model must change only together with its Version, because tables
// of the same version are not rebuilt.
func TestTablesChangeWithVersion(t *testing.T) {
	for _, model := range slices.Concat(readmodel.All(), readmodel.Optional()) {
		m := model.Projection
		t.Run(m.Name(), func(t *testing.T) {
			var out bytes.Buffer
			for _, dialect := range []sqldb.Dialect{sqliteSQL, postgresSQL} {
				tables, err := tablesOf(dialect, m.Name())
				if err != nil {
					t.Fatal(err)
				}
				indexes, err := indexesOf(dialect, m.Name())
				if err != nil {
					t.Fatal(err)
				}
				statements := strings.Join(strings.Fields(sqlComment.ReplaceAllString(tables+indexes, "")), " ")
				fmt.Fprintf(&out, "%s %x\n", dialect, sha256.Sum256([]byte(statements)))
			}
			golden.Check{
				File: "testdata/tables-" + m.Name() + ".txt", Changed: "the tables of " + m.Name() + " have changed",
				Version: m.Version(), Raise: "its Version in projections/readmodel",
			}.Run(t, func(int) []byte { return out.Bytes() })
		})
	}
}
