package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/http/signin/accounts"
	"annals/queries/accesslog"
)

// Commands that change an account are recorded in the access log, with the account, without
// an actor, and without secrets.
func TestCommandsAreInAccessLog(t *testing.T) {
	dir := t.TempDir()
	accounts, err := accounts.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"user", "add", "bob"}, {"user", "password", "bob"}, {"user", "admin", "bob", "on"}, {"user", "groups", "bob", "staff"}, {"user", "list"},
		{"user", "disable", "bob"}, {"user", "delete", "bob"},
	} {
		command := rootCommand()
		command.SetArgs(append(args, "--data", dir))
		command.SetIn(strings.NewReader("correct horse battery\n"))
		var out bytes.Buffer
		command.SetOut(&out)
		command.SetErr(&out)
		if err := command.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("annals %s: %v", strings.Join(args, " "), err)
		}
	}
	log, err := accesslog.Open(t.Context(), filepath.Join(dir, accesslog.File), accesslog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	records, err := log.Records(t.Context(), accesslog.Filter{Everywhere: true, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, r := range slices.Backward(records) {
		kinds = append(kinds, string(r.Kind))
		if r.Actor != "" || r.Via != "command" || r.Place != "user:bob" || r.Name != "bob" || strings.Contains(r.Words(), "horse") {
			t.Errorf("record %+v", r)
		}
	}
	if want := []string{"UserCreated", "PasswordChanged", "UserChanged", "UserChanged", "UserChanged"}; len(kinds) < len(want) || !slices.Equal(kinds[:len(want)], want) {
		t.Errorf("recorded %v, want %v first", kinds, want)
	}
}
