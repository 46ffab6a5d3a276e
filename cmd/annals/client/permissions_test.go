package client_test

import (
	"reflect"
	"strings"
	"testing"

	"annals/cmd/annals/client"
	"annals/events"
)

func TestGrantChangesOneEntry(t *testing.T) {
	entry := func(who events.Principal, access string) client.PermissionEntry {
		return client.PermissionEntry{Permission: events.Permission{Principal: who, Access: access}}
	}
	bob, staff := entry("user:bob", "read"), entry("group:staff", "write")
	for _, c := range []struct {
		name string
		client.Grant
		want []client.PermissionEntry
		same bool
	}{
		{"another principal", client.Grant{To: "user:eve", Access: events.Read}, []client.PermissionEntry{bob, staff, entry("user:eve", "read")}, false},
		{"more", client.Grant{To: "user:bob", Access: events.Own}, []client.PermissionEntry{entry("user:bob", "own"), staff}, false},
		{"less", client.Grant{To: "group:staff", Access: events.Read}, []client.PermissionEntry{bob, entry("group:staff", "read")}, false},
		{"none", client.Grant{To: "user:bob", Access: events.NoAccess}, []client.PermissionEntry{staff}, false},
		{"what is there", client.Grant{To: "user:bob", Access: events.Read}, []client.PermissionEntry{bob, staff}, true},
		{"none to whom nothing is granted", client.Grant{To: "user:eve", Access: events.NoAccess}, []client.PermissionEntry{bob, staff}, true},
		{"own to the owner", client.Grant{To: "user:alice", Access: events.Own}, []client.PermissionEntry{bob, staff}, true},
	} {
		p := client.Permissions{Owners: []events.Principal{"user:alice"}, List: []client.PermissionEntry{bob, staff}}
		changed, err := p.Apply(c.Grant)
		if err != nil || changed == c.same || !reflect.DeepEqual(p.List, c.want) {
			t.Errorf("%s: Apply = %v, %v with the list %v; want %v", c.name, changed, err, p.List, c.want)
		}
	}
	p := client.Permissions{Owners: []events.Principal{"user:alice"}}
	if _, err := p.Apply(client.Grant{To: "user:alice", Access: events.NoAccess}); err == nil || !strings.Contains(err.Error(), "owner") {
		t.Errorf("Apply of none to the owner: %v, want an error with who owns the folder", err)
	}
}
