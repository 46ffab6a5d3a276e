package vault_test

import (
	"testing"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// A name is compared only with the names of documents that are in the folder now.
func TestAlikeDocuments(t *testing.T) {
	f := newFixture(t)
	top, other := f.AddFolder(uuid.Nil, "Top", "user:alice"), f.AddFolder(uuid.Nil, "Other", "user:alice")
	report := f.AddDocument(top, "report1.md", nil, "a")
	f.AddDocument(top, "Отчёт.md", nil, "b")
	f.AddDocument(other, "plans.md", nil, "c")
	f.AddDocument(top, "a   b c.md", nil, "e")
	moved := f.AddDocument(other, "moved.md", nil, "d")
	f.Append(events.DocumentStream(moved), events.DocumentRenamed{Version: 2, Name: "ѕсоре.md"}, events.DocumentMoved{Version: 2, Folder: top})
	f.Settle()
	for _, test := range []struct {
		name   string
		except uuid.UUID
		want   string
	}{
		{"rероrt1.md", uuid.Nil, "report1.md"}, {"rероrt1.md", report, ""}, {"report1.md", uuid.Nil, ""}, {"reportl.md", uuid.Nil, ""},
		{"Отчет.md", uuid.Nil, ""}, {"рlans.md", uuid.Nil, ""}, {"scope.md", uuid.Nil, "ѕсоре.md"}, {"mоved.md", uuid.Nil, ""}, {"ѕcope.md", uuid.Nil, "ѕсоре.md"},
		{"a b c.md", uuid.Nil, "a   b c.md"}, {"a b  c.md", uuid.Nil, "a   b c.md"}, {"a\u00a0b c.md", uuid.Nil, "a   b c.md"}, {"a   b c.md", uuid.Nil, ""}, {"ab c.md", uuid.Nil, ""},
		{"report 1.md", uuid.Nil, ""},
	} {
		got, err := f.vault.AlikeDocuments(t.Context(), []uuid.UUID{other, top}, []string{"unlike.md", test.name}, test.except)
		if err != nil || len(got) != 2 || got[0] != "" || got[1] != test.want {
			t.Errorf("AlikeDocuments(%s, except %s) = %q, %v, want %q", test.name, test.except, got, err, test.want)
		}
	}
}

func TestNamesRequireVault(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	f.Stop(f.Models.Vault)
	f.AddDocument(top, "report1.md", nil, "Text.")
	f.AwaitStop(f.Models.Vault)
	if got, err := f.vault.NamesTaken(t.Context(), []uuid.UUID{top}, []string{"report1.md"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("NamesTaken = %v, %v, want fault.Unavailable", got, err)
	}
	if got, err := f.vault.AlikeDocuments(t.Context(), []uuid.UUID{top}, []string{"rероrt1.md"}, uuid.Nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("AlikeDocuments = %v, %v, want fault.Unavailable", got, err)
	}
	if got, err := f.vault.DocumentsNamed(t.Context(), top, "report1.md", 0); !fault.Is(err, fault.Unavailable) {
		t.Errorf("DocumentsNamed = %v, %v, want fault.Unavailable", got, err)
	}
}
