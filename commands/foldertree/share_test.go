package foldertree_test

import (
	"fmt"
	"strings"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
)

func TestShareFolder(t *testing.T) {
	list := func(n byte, entries ...string) foldertree.ShareFolder {
		return foldertree.ShareFolder{ID: id(n), Version: -1, Permissions: shared(n, entries...).(events.FolderShared).Permissions}
	}
	var many []string
	for i := range foldertree.MaxPermissions + 1 {
		many = append(many, fmt.Sprintf("user:%04d=read", i))
	}
	for _, test := range []folderTest{
		{"a list is kept in order", nil, alice, list(1, "user:bob=read", "group:x=own"), []events.Data{invited(shared(1, "group:x=own"), "user:bob=read by user:alice")}, 0},
		{"it replaces the one before", nil, alice, list(2, "group:y=own"), []events.Data{shared(2, "group:y=own")}, 0},
		{"an empty one withdraws all", nil, alice, list(2), []events.Data{shared(2)}, 0},
		{"the same list is no change", []events.Data{shared(1, "group:x=own", "user:bob=read")}, alice, list(1, "user:bob=read", "group:x=own"), nil, 0},
		{"nor is none where there was none", nil, alice, list(1), nil, 0},
		{"writers do not share", nil, bob, list(2, "user:bob=own"), nil, fault.Forbidden},
		{"who owns by a list does", []events.Data{shared(2, "user:bob=own")}, bob, list(2), []events.Data{shared(2)}, 0},
		{"others do not see it", nil, bob, list(1), nil, fault.NotFound},
		{"an admin shares anything", nil, admin, list(5, "user:alice=read"), []events.Data{shared(5, "user:alice=read")}, 0},
		{"a stale version", nil, alice, foldertree.ShareFolder{ID: id(2), Version: 1}, nil, fault.Conflict},
		{"the one that was read", nil, alice, foldertree.ShareFolder{ID: id(2), Version: 2}, []events.Data{shared(2)}, 0},
		{"1,000 entries", []events.Data{shared(1, many[1:]...)}, alice, list(1, many[1:]...), nil, 0},
		{"and no more", nil, alice, list(1, many...), nil, fault.Invalid},
		{"each principal once", nil, alice, list(1, "user:bob=read", "user:bob=own"), nil, fault.Invalid},
		{"no other kind", nil, alice, list(1, "robot:x=read"), nil, fault.Invalid},
		{"no name", nil, alice, list(1, "user:=read"), nil, fault.Invalid},
		{"no kind", nil, alice, list(1, "bob=read"), nil, fault.Invalid},
		{"no space around it", nil, alice, list(1, "user:bob =read"), nil, fault.Invalid},
		{"no control characters", nil, alice, list(1, "user:b\tob=read"), nil, fault.Invalid},
		{"not decomposed", nil, alice, list(1, "user:u\u0308=read"), nil, fault.Invalid},
		{"not too long", nil, alice, list(1, "user:"+strings.Repeat("x", 251)+"=read"), nil, fault.Invalid},
		{"255 bytes are not", nil, alice, list(1, "group:"+strings.Repeat("x", 249)+"=read"), []events.Data{shared(1, "group:"+strings.Repeat("x", 249)+"=read")}, 0},
		{"no other access", nil, alice, list(1, "user:bob=admin"), nil, fault.Invalid},
		{"none is no access to give", nil, alice, list(1, "user:bob=none"), nil, fault.Invalid},
	} {
		test.run(t)
	}
}
