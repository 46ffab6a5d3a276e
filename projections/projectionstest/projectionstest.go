// Package projectionstest says where tests of other packages keep read models.
package projectionstest

import (
	"testing"

	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
	"annals/projections"
)

// Home is a folder, or a database where ANNALS_TEST_READ_MODELS is postgres. What
// is in it is to be closed before the test ends.
func Home(t testing.TB, dir string) projections.Home {
	t.Helper()
	url, chosen := postgrestest.ForReadModels(t)
	if !chosen {
		return projections.Folder(dir)
	}
	parsed, err := postgres.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	d := projections.NewDatabase(parsed)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
