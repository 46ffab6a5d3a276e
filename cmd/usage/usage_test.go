package usage_test

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"annals/cmd/usage"
	"annals/commands/quota"
	"annals/events"
	"annals/http/signin/accounts"
	"annals/projections/control"
	"annals/queries"
)

func TestLimitsIncludesRunningImports(t *testing.T) {
	got := usage.Limits(queries.Usage{
		Bytes: 1, Documents: 2, Folders: 3, Shares: 4,
		Imports: 5, ImportBytes: 10, ImportDocuments: 20, ImportFolders: 30,
		FailedBytes: 100, DeletedBytes: 1000,
	})
	want := quota.Limits{quota.Bytes: 1111, quota.Documents: 22, quota.Folders: 33, quota.Shares: 4, quota.Imports: 5}
	if got != want {
		t.Errorf("Limits = %v, want %v", got, want)
	}
}

func TestPrincipalsRejectsInvalidLimit(t *testing.T) {
	s := usage.Settings{Others: []string{"user:corp/eve=documents=7", "user:corp/bob=bytes=1KiB,search=2m"}}
	all, err := s.Principals()
	if err != nil || len(all) != 2 || all["user:corp/eve"][quota.Documents] != 7 || all["user:corp/bob"][quota.Bytes] != 1024 {
		t.Errorf("Principals = %v, %v; want the limits of eve and bob", all, err)
	}
	s.Others = append(s.Others, "nobody=bytes=1")
	if all, err := s.Principals(); err == nil || !strings.Contains(err.Error(), "--quota-for") {
		t.Errorf("Principals = %v, %v; want an error that names --quota-for", all, err)
	}
}

func TestOverridesReadsLimitsOfAccount(t *testing.T) {
	store, err := accounts.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Create(t.Context(), accounts.NewAccount{Name: "bob", Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ChangeQuota(t.Context(), "bob", map[string]int64{"folders": 3, "of a newer version": 5}, nil); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[events.Principal]quota.Override{"user:bob": {quota.Folders: 3}, "user:eve": {}} {
		if got, err := usage.Overrides(store)(t.Context(), user); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Overrides(%s) = %v, %v; want %v", user, got, err, want)
		}
	}
}

func TestOfServerReturnsNotedLimits(t *testing.T) {
	store, err := control.Open(t.Context(), filepath.Join(t.TempDir(), "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	command := usage.Settings{User: quota.Default}
	command.User[quota.Folders] = 30
	var warnings bytes.Buffer
	p, started, err := command.OfServer(t.Context(), store, &warnings)
	if err != nil || p.User != command.User || !started.IsZero() || warnings.Len() > 0 {
		t.Errorf("OfServer without a server = %+v, %v, %v with warnings %q; want the limits of the command", p, started, err, &warnings)
	}
	server := quota.Policy{User: quota.Default, Principals: map[events.Principal]quota.Override{"user:corp/eve": {quota.Documents: 7}}}
	server.User[quota.Folders] = 3
	if err := usage.Note(t.Context(), store, &server); err != nil {
		t.Fatal(err)
	}
	p, started, err = command.OfServer(t.Context(), store, &warnings)
	if err != nil || p.User != server.User || !reflect.DeepEqual(p.Principals, server.Principals) || started.IsZero() {
		t.Errorf("OfServer = %+v, %v, %v; want %+v and the start of the server", p, started, err, server)
	}
	if want := "--quota-folders 30 is ignored, because serve was started with 3\n"; !strings.HasSuffix(warnings.String(), want) {
		t.Errorf("OfServer warns %q, want %q", &warnings, want)
	}
}
