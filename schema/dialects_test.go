package schema_test

import (
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"testing"

	"annals/schema"
)

var (
	tables  = regexp.MustCompile(`(?ms)^CREATE TABLE (\w+) \(\n(.*?)^\)`)
	columns = regexp.MustCompile(`(?m)^\t(\w+) +[A-Z]`)
	keys    = regexp.MustCompile(`(?m)^\t(?:PRIMARY KEY|UNIQUE) .*`)
)

// shape is what statements know of the tables that a file makes: their columns,
// in order, and keys.
func shape(t *testing.T, dialect, file string) map[string][]string {
	t.Helper()
	text, err := schema.SQL.ReadFile("sql/" + dialect + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]string)
	for _, table := range tables.FindAllSubmatch(text, -1) {
		name := string(table[1])
		all[name] = []string{}
		for _, column := range columns.FindAllSubmatch(keys.ReplaceAll(table[2], nil), -1) {
			all[name] = append(all[name], string(column[1]))
		}
		for _, key := range keys.FindAll(table[2], -1) {
			all[name] = append(all[name], string(key))
		}
	}
	return all
}

func TestBothDialectsMakeTheSameTables(t *testing.T) {
	files, err := fs.Glob(schema.SQL, "sql/sqlite/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("files of SQLite: %v (%v)", files, err)
	}
	for _, file := range files {
		name := path.Base(file)
		if name == "control.sql" {
			continue // which holds more where nodes share it
		}
		sqlite, postgres := shape(t, "sqlite", name), shape(t, "postgres", name)
		if !reflect.DeepEqual(sqlite, postgres) {
			t.Errorf("%s makes for SQLite\n%v\nand for PostgreSQL\n%v", name, sqlite, postgres)
		}
	}
}
