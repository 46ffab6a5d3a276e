package foldertree_test

import (
	"strings"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/events"

	"github.com/google/uuid"
)

var (
	alice = events.User{Principal: "user:alice", Groups: []events.Principal{"group:staff"}}
	bob   = events.User{Principal: "user:bob"}
	admin = events.User{Principal: "user:root", Admin: true}
)

// id returns the same id for the same number.
func id(n byte) uuid.UUID { return uuid.UUID{15: n} }

// place is the place of a path.
func place(path string) foldertree.Target {
	to, err := foldertree.Destination{Path: path}.Split()
	if err != nil {
		panic(err)
	}
	return to
}

// fold gives a state its story.
func fold[S aggregate.State](s S, story []events.Data) S {
	for i, data := range story {
		s.Apply(events.Event{Revision: int64(i), Data: data})
	}
	return s
}

func created(n, parent byte, name string, owner events.Principal) events.Data {
	return events.FolderCreated{Folder: id(n), Parent: id(parent), Name: name, Owner: owner}
}

var (
	carol = events.User{Principal: "user:carol"}
	dave  = events.User{Principal: "user:dave", Groups: []events.Principal{"group:board"}}
)

func shared(n byte, list ...string) events.Data {
	s := events.FolderShared{Folder: id(n)}
	for _, entry := range list {
		principal, access, _ := strings.Cut(entry, "=")
		s.Permissions = append(s.Permissions, events.Permission{Principal: events.Principal(principal), Access: access})
	}
	return s
}

func moved(n, parent byte, owner events.Principal) events.Data {
	return events.FolderMoved{Folder: id(n), Parent: id(parent), Owner: owner}
}

func renamed(n byte, name string) events.Data { return events.FolderRenamed{Folder: id(n), Name: name} }

// grounds is what the folder commands are judged on: folders of alice's, with
// what she shares of them, one of bob's, and the inbox with both in it.
func grounds() []events.Data {
	return []events.Data{
		created(1, 0, "Reports", "user:alice"), created(2, 1, "2026", ""), created(3, 2, "Q3", ""),
		created(4, 1, "Plans", ""), created(5, 0, "Bob's", "user:bob"), created(6, 5, "2026", ""),
		created(7, 0, "Inbox", ""), created(8, 7, "alice", "user:alice"), created(9, 7, "bob", "user:bob"),
		shared(2, "user:bob=write"), // version 2 of folder 2
		shared(4, "user:bob=read"),
		created(10, 0, "Drafts", "user:alice"), shared(10, "user:bob=write"),
	}
}

// invited adds invitations to a list: "user:bob=read by user:alice", with
// " through group:x" behind it.
func invited(data events.Data, list ...string) events.Data {
	s := data.(events.FolderShared)
	for _, text := range list {
		words := strings.Fields(text)
		who, access, _ := strings.Cut(words[0], "=")
		i := events.Invitation{Principal: events.Principal(who), Access: access, By: events.Principal(words[2])}
		if len(words) > 4 {
			i.Through = events.Principal(words[4])
		}
		s.Invitations = append(s.Invitations, i)
	}
	return s
}
