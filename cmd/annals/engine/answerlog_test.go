package engine_test

import (
	"os"
	"testing"

	"annals/cmd/annals/engine"
	"annals/events/sqldb/postgrestest"
	"annals/queries/answerlog"
)

// A service that has never had a language model gets no stores for one, but those of a service
// that had one are opened without it.
func TestAnswersAreOpenedIfTheyExist(t *testing.T) {
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		testAnswersExist(t, engine.URLs{Data: dir})
		if files, err := os.ReadDir(dir); err != nil || len(files) == 0 {
			t.Errorf("the folder has %v, %v, want both stores", files, err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		testAnswersExist(t, engine.URLs{Data: t.TempDir(), Accounts: postgrestest.URL(t)})
	})
}

func testAnswersExist(t *testing.T, u engine.URLs) {
	for _, test := range []struct{ create, want bool }{{false, false}, {true, true}, {false, true}} {
		records, err := u.OpenAnswerLog(t.Context(), answerlog.Options{}, test.create)
		if err != nil || (records != nil) != test.want {
			t.Fatalf("OpenAnswerLog with create %t = %v, %v, want a log: %t", test.create, records, err, test.want)
		}
		descriptions, err := u.OpenDescriptions(t.Context(), test.create)
		if err != nil || (descriptions != nil) != test.want {
			t.Fatalf("OpenDescriptions with create %t = %v, %v, want a store: %t", test.create, descriptions, err, test.want)
		}
		if test.want {
			if err := records.Close(); err != nil {
				t.Error(err)
			}
			if err := descriptions.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if files, err := os.ReadDir(u.Data); err != nil || len(files) > 0 {
			t.Errorf("the folder has %v, %v, want nothing", files, err)
		}
	}
}
