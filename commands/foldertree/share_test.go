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
		{"a list is sorted", nil, alice, list(1, "user:bob=read", "group:x=own"), []events.Data{invited(shared(1, "group:x=own"), "user:bob=read by user:alice")}, 0},
		{"a list replaces the old one", nil, alice, list(2, "group:y=own"), []events.Data{shared(2, "group:y=own")}, 0},
		{"an empty list", nil, alice, list(2), []events.Data{shared(2)}, 0},
		{"the same list", []events.Data{shared(1, "group:x=own", "user:bob=read")}, alice, list(1, "user:bob=read", "group:x=own"), nil, 0},
		{"an empty list for an empty list", nil, alice, list(1), nil, 0},
		{"by a writer", nil, bob, list(2, "user:bob=own"), nil, fault.Forbidden},
		{"by an owner by permission", []events.Data{shared(2, "user:bob=own")}, bob, list(2), []events.Data{shared(2)}, 0},
		{"without access", nil, bob, list(1), nil, fault.NotFound},
		{"by an admin", nil, admin, list(5, "user:alice=read"), []events.Data{shared(5, "user:alice=read")}, 0},
		{"a stale version", nil, alice, foldertree.ShareFolder{ID: id(2), Version: 1}, nil, fault.Conflict},
		{"the current version", nil, alice, foldertree.ShareFolder{ID: id(2), Version: 2}, []events.Data{shared(2)}, 0},
		{"1,000 entries", []events.Data{shared(1, many[1:]...)}, alice, list(1, many[1:]...), nil, 0},
		{"1,001 entries", nil, alice, list(1, many...), nil, fault.Invalid},
		{"a principal twice", nil, alice, list(1, "user:bob=read", "user:bob=own"), nil, fault.Invalid},
		{"another kind of principal", nil, alice, list(1, "robot:x=read"), nil, fault.Invalid},
		{"a principal without name", nil, alice, list(1, "user:=read"), nil, fault.Invalid},
		{"a principal without kind", nil, alice, list(1, "bob=read"), nil, fault.Invalid},
		{"a space after the principal", nil, alice, list(1, "user:bob =read"), nil, fault.Invalid},
		{"a control character", nil, alice, list(1, "user:b\tob=read"), nil, fault.Invalid},
		{"not in NFC", nil, alice, list(1, "user:u\u0308=read"), nil, fault.Invalid},
		{"a principal of 256 bytes", nil, alice, list(1, "user:"+strings.Repeat("x", 251)+"=read"), nil, fault.Invalid},
		{"a principal of 255 bytes", nil, alice, list(1, "group:"+strings.Repeat("x", 249)+"=read"), []events.Data{shared(1, "group:"+strings.Repeat("x", 249)+"=read")}, 0},
		{"an unknown access", nil, alice, list(1, "user:bob=admin"), nil, fault.Invalid},
		{"the access none", nil, alice, list(1, "user:bob=none"), nil, fault.Invalid},
	} {
		test.run(t)
	}
}
