package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/http/signin"
	"annals/queries/accesslog"

	"github.com/spf13/pflag"
)

// What commands do beside a server is in the audit trail: as an operator's, with
// the account that it is about, and without any secret.
func TestCommandsAreRecorded(t *testing.T) {
	dir := t.TempDir()
	accounts, err := signin.OpenAccounts(t.Context(), dir)
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

// Whose a sign-in is, and who failed at it, is kept apart: somebody else may have
// tried.
func TestWhoseASignInIs(t *testing.T) {
	for kind, actor := range map[signin.EventKind]string{signin.SignedIn: "user:bob", signin.SignInFailed: "", signin.SignInRefused: "", signin.FactorAdded: "user:bob"} {
		a := signedIn(signin.Event{Kind: kind, User: "bob", Address: "192.0.2.1", Detail: "x"}, "c")
		if string(a.User.Principal) != actor || a.Place != "user:bob" || a.Address != "192.0.2.1" || a.Correlation != "c" {
			t.Errorf("%s is recorded as %+v", kind, a)
		}
	}
	if a := signedIn(signin.Event{Kind: signin.SignInFailed, Address: "192.0.2.1"}, ""); a.Place != "" || a.Name != "" {
		t.Errorf("a name that nobody has is recorded as %+v", a)
	}
	for _, kind := range []signin.EventKind{signin.SignedIn, signin.SignInFailed, signin.SignInRefused, signin.SignedOut, signin.ProgramAllowed, signin.ProgramDenied,
		signin.ProgramEnded, signin.ProgramMisused, signin.TokenIssued, signin.TokenCreated, signin.TokenRevoked, signin.UserCreated, signin.UserChanged, signin.PasswordChanged, signin.LinkCreated,
		signin.FactorAdded, signin.FactorRemoved, signin.FactorsReset, signin.FactorsRequired, signin.RecoveryUsed, signin.KeyAdded, signin.KeyDeleted} {
		r := accesslog.Record{Kind: accesslog.KindOf(string(kind)), Count: 1, Name: "bob"}
		if said := r.Words(); said == strings.ToLower(said) && strings.HasSuffix(said, `: "bob"`) {
			t.Errorf("%s has no sentence: %q", kind, said)
		}
	}
}

func TestSettingsOfTheAccessLog(t *testing.T) {
	for _, test := range []struct {
		args  []string
		reads accesslog.Reads
		kept  time.Duration
		wrong bool
	}{
		{nil, accesslog.Reads{}, 90 * 24 * time.Hour, false},
		{[]string{"--audit-reads", "none", "--access-log-retention", "7d"}, accesslog.Reads{None: true}, 7 * 24 * time.Hour, false},
		{[]string{"--audit-reads", "sample:10", "--access-log-retention", "36h"}, accesslog.Reads{Every: 10}, 36 * time.Hour, false},
		{[]string{"--audit-reads", "all", "--access-log-retention", "0", "--access-log-bytes", "1MB"}, accesslog.Reads{Every: 1}, 0, false},
		{[]string{"--audit-reads", "some"}, accesslog.Reads{}, 0, true},
		{[]string{"--audit-reads", "sample:0"}, accesslog.Reads{}, 0, true},
		{[]string{"--access-log-retention", "-1h"}, accesslog.Reads{}, 0, true},
		{[]string{"--access-log-retention", "90"}, accesslog.Reads{}, 0, true},
	} {
		var c accessConfig
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		c.bind(flags)
		err := flags.Parse(test.args)
		if (err != nil) != test.wrong || err == nil && (c.reads.Reads != test.reads || time.Duration(c.retention) != test.kept) {
			t.Errorf("%v = %+v for %v, %v", test.args, c.reads.Reads, time.Duration(c.retention), err)
		}
	}
}
