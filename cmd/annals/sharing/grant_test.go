package sharing_test

import (
	"strings"
	"testing"

	"annals/cmd/annals/client"
	"annals/cmd/annals/sharing"
	"annals/events"
)

func TestParseGrant(t *testing.T) {
	for _, c := range []struct{ principal, access, says string }{
		{"bob", "read", "did you mean user:bob?"},
		{"User:bob", "read", "did you mean user:bob?"},
		{"groups:staff", "read", "did you mean group:staff?"},
		{"role:bob", "read", "write user:NAME or group:NAME"},
		{"user:", "read", "write user:NAME or group:NAME"},
		{"", "read", "write user:NAME or group:NAME"},
		{"read", "user:bob", "the principal comes before the access: PATH user:bob read"},
		{"user:bob", "reader", `the access must be read, write, own, or none to withdraw it, not "reader"`},
		{"user:bob", "", "must be read, write, own, or none"},
	} {
		if got, err := sharing.ParseGrant(c.principal, c.access); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("ParseGrant(%q, %q) = %v, %v; want an error with %q", c.principal, c.access, got, err, c.says)
		}
	}
	for _, c := range []struct {
		principal, access string
		want              client.Grant
	}{
		{"user:bob", "none", client.Grant{To: "user:bob", Access: events.NoAccess}},
		{"user:corp/Zoe\u0308", "own", client.Grant{To: "user:corp/Zo\u00eb", Access: events.Own}},
		{" group:staff", "write", client.Grant{To: "group:staff", Access: events.Write}},
	} {
		if got, err := sharing.ParseGrant(c.principal, c.access); err != nil || got != c.want {
			t.Errorf("ParseGrant(%q, %q) = %v, %v; want %v", c.principal, c.access, got, err, c.want)
		}
	}
}
