// Package commandstest has the users and folders that tests of commands use. It imports
// commands/aggregate and events.
package commandstest

import (
	"strings"

	"annals/commands/aggregate"
	"annals/events"

	"github.com/google/uuid"
)

// Alice and Bob own folders in Folders; Admin is an administrator.
var (
	Alice = events.User{Principal: "user:alice", Groups: []events.Principal{"group:staff"}}
	Bob   = events.User{Principal: "user:bob"}
	Admin = events.User{Principal: "user:root", Admin: true}
)

// ID returns the id whose last byte is n.
func ID(n byte) uuid.UUID { return uuid.UUID{15: n} }

// Fold applies the events of a stream to a state, and returns it.
func Fold[S aggregate.State](s S, stream []events.Data) S {
	for i, data := range stream {
		s.Apply(events.Event{Revision: int64(i), Data: data})
	}
	return s
}

// Created returns the event that creates folder n; parent 0 is the top level.
func Created(n, parent byte, name string, owner events.Principal) events.Data {
	return events.FolderCreated{Folder: ID(n), Parent: ID(parent), Name: name, Owner: owner}
}

// Shared returns the event that sets the permissions of folder n, written as
// "user:bob=read".
func Shared(n byte, permissions ...string) events.Data {
	s := events.FolderShared{Folder: ID(n)}
	for _, p := range permissions {
		principal, access, _ := strings.Cut(p, "=")
		s.Permissions = append(s.Permissions, events.Permission{Principal: events.Principal(principal), Access: access})
	}
	return s
}

// Folders returns the events of a tree: folders of Alice, some of which she shares with Bob;
// a folder of Bob; and the inbox with a folder of each of them.
func Folders() []events.Data {
	return []events.Data{
		Created(1, 0, "Reports", "user:alice"), Created(2, 1, "2026", ""), Created(3, 2, "Q3", ""),
		Created(4, 1, "Plans", ""), Created(5, 0, "Bob's", "user:bob"), Created(6, 5, "2026", ""),
		Created(7, 0, "Inbox", ""), Created(8, 7, "alice", "user:alice"), Created(9, 7, "bob", "user:bob"),
		Shared(2, "user:bob=write"), // version 2 of folder 2
		Shared(4, "user:bob=read"),
		Created(10, 0, "Drafts", "user:alice"), Shared(10, "user:bob=write"),
	}
}
