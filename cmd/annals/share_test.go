package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/http/signin"
)

func TestGrantsThatCannotBeAreExplained(t *testing.T) {
	for _, c := range []struct{ principal, access, says string }{
		{"bob", "read", "did you mean user:bob?"},
		{"User:bob", "read", "did you mean user:bob?"},
		{"groups:staff", "read", "did you mean group:staff?"},
		{"role:bob", "read", "write user:NAME or group:NAME"},
		{"user:", "read", "write user:NAME or group:NAME"},
		{"", "read", "write user:NAME or group:NAME"},
		{"read", "user:bob", "the principal comes before the access: PATH user:bob read"},
		{"user:bob", "reader", `"reader" is no access: it is read, write, own, or none to withdraw`},
		{"user:bob", "", "it is read, write, own, or none"},
	} {
		if got, err := parseGrant(c.principal, c.access); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("parseGrant(%q, %q) = %v, %v; want an error that says %q", c.principal, c.access, got, err, c.says)
		}
	}
	for _, c := range []struct {
		principal, access string
		want              grant
	}{
		{"user:bob", "none", grant{"user:bob", events.NoAccess}},
		{"user:corp/Zoe\u0308", "own", grant{"user:corp/Zo\u00eb", events.Own}},
		{" group:staff", "write", grant{"group:staff", events.Write}},
	} {
		if got, err := parseGrant(c.principal, c.access); err != nil || got != c.want {
			t.Errorf("parseGrant(%q, %q) = %v, %v; want %v", c.principal, c.access, got, err, c.want)
		}
	}
}

func TestAGrantChangesOneEntryOfTheList(t *testing.T) {
	entry := func(who events.Principal, access string) folderEntry {
		return folderEntry{events.Permission{Principal: who, Access: access}, false}
	}
	bob, staff := entry("user:bob", "read"), entry("group:staff", "write")
	for _, c := range []struct {
		name string
		grant
		want []folderEntry
		same bool
	}{
		{"another principal", grant{"user:eve", events.Read}, []folderEntry{bob, staff, entry("user:eve", "read")}, false},
		{"more", grant{"user:bob", events.Own}, []folderEntry{entry("user:bob", "own"), staff}, false},
		{"less", grant{"group:staff", events.Read}, []folderEntry{bob, entry("group:staff", "read")}, false},
		{"none", grant{"user:bob", events.NoAccess}, []folderEntry{staff}, false},
		{"what is there", grant{"user:bob", events.Read}, []folderEntry{bob, staff}, true},
		{"none to whom nothing is granted", grant{"user:eve", events.NoAccess}, []folderEntry{bob, staff}, true},
		{"own to the owner", grant{"user:alice", events.Own}, []folderEntry{bob, staff}, true},
	} {
		p := folderPermissions{Owners: []events.Principal{"user:alice"}, List: []folderEntry{bob, staff}}
		changed, err := p.apply(c.grant)
		if err != nil || changed == c.same || !reflect.DeepEqual(p.List, c.want) {
			t.Errorf("%s: apply = %v, %v and leaves %v; want %v", c.name, changed, err, p.List, c.want)
		}
	}
	p := folderPermissions{Owners: []events.Principal{"user:alice"}}
	if _, err := p.apply(grant{"user:alice", events.NoAccess}); err == nil || !strings.Contains(err.Error(), "owner") {
		t.Errorf("apply of none to the owner: %v, want an error that says who owns the folder", err)
	}
}

// TestGrantsMadeAtOnceAreAllKept lets several operators share one folder at
// the same time: each begins again where another was first.
func TestGrantsMadeAtOnceAreAllKept(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "annals-data")
	server, err := startServer(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	token, err := issueToken(data, "admin")
	if err != nil {
		t.Fatal(err)
	}
	if status, body, err := server.request(token, http.MethodPost, "/vault/folders", `{"name": "reports"}`); status != http.StatusCreated {
		t.Fatalf("POST /folders = %d %s %v", status, body, err)
	}
	share := func(args ...string) (string, error) {
		var out, says bytes.Buffer
		err := run(t.Context(), append([]string{"share", "--data", data, "reports"}, args...), nil, &out, &says)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, says.String())
		}
		return out.String(), err
	}
	const operators = 8
	var group sync.WaitGroup
	for i := range operators {
		group.Go(func() {
			if _, err := share(fmt.Sprintf("user:user%d", i), "read", "--force"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	list, err := share()
	if err != nil {
		t.Fatal(err)
	}
	for i := range operators {
		if who := fmt.Sprintf("user:user%d", i); strings.Count(list, who) != 1 {
			t.Errorf("the folder's list is\n%s\nwant %s in it once", list, who)
		}
	}
}

func TestTheVaultIsFoundBesideTheCore(t *testing.T) {
	dir := t.TempDir()
	urls := signin.URLs{Core: "http://core.test", Vault: "http://vault.test", Issuer: "http://h/signin"}
	if err := signin.WriteURLs(dir, urls); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, server, given, want string }{
		{dir, "", "", "http://vault.test"},
		{filepath.Join(dir, "nowhere"), "", "", "http://" + defaultListen + "/vault"},
		{dir, "https://a.test/core/", "", "https://a.test/vault"},
		{dir, "https://a.test/core", "https://b.test/", "https://b.test"},
		{dir, "", "https://b.test/v", "https://b.test/v"},
		{dir, "https://a.test", "", "name it by --vault-url"},
		{dir, "a.test/core", "", "must be the http or https URL of the core"},
		{dir, "", "a.test", "--vault-url a.test: must be the http or https URL of the vault"},
	} {
		connection := connection{server: c.server}
		got, err := connection.vault(c.given, c.dir)
		if got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("with --server %q --vault-url %q the vault is at %q, %v; want %q", c.server, c.given, got, err, c.want)
		}
	}
}

func TestSignInsAreLookedForWhereTheVaultIs(t *testing.T) {
	dir := t.TempDir()
	urls := signin.URLs{Core: "http://core.test", Vault: "http://vault.test", Issuer: "http://h/signin"}
	if err := signin.WriteURLs(dir, urls); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ server, vault, want string }{
		{"", "http://vault.test", "http://core.test"},
		{"", "https://a.test/vault", "https://a.test/core"},
		{"", "https://a.test/v", ""},
		{"https://b.test/c", "https://a.test/v", "https://b.test/c"},
	} {
		connection := connection{server: c.server}
		if got, err := connection.coreBeside(c.vault, dir); got != c.want || err != nil {
			t.Errorf("with --server %q the core beside %s is %q, %v; want %q", c.server, c.vault, got, err, c.want)
		}
	}
}
