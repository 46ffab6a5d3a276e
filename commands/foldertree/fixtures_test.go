package foldertree_test

import (
	"strings"

	"annals/commands/commandstest"
	"annals/commands/foldertree"
	"annals/events"
)

var (
	alice, bob, admin = commandstest.Alice, commandstest.Bob, commandstest.Admin
	carol             = events.User{Principal: "user:carol"}
	dave              = events.User{Principal: "user:dave", Groups: []events.Principal{"group:board"}}

	id, created, shared = commandstest.ID, commandstest.Created, commandstest.Shared
)

// target returns the Target for a path.
func target(path string) foldertree.Target {
	to, err := foldertree.Destination{Path: path}.Split()
	if err != nil {
		panic(err)
	}
	return to
}

// fold returns the tree of a stream, under default rules.
func fold(stream []events.Data) *foldertree.Tree { return foldWith(foldertree.Rules{}, stream) }

func foldWith(rules foldertree.Rules, stream []events.Data) *foldertree.Tree {
	return commandstest.Fold(foldertree.New(rules), stream)
}

func moved(n, parent byte, owner events.Principal) events.Data {
	return events.FolderMoved{Folder: id(n), Parent: id(parent), Owner: owner}
}

func renamed(n byte, name string) events.Data { return events.FolderRenamed{Folder: id(n), Name: name} }

// invited adds invitations to a FolderShared, written as "user:bob=read by user:alice" or
// "user:bob=read by user:alice through group:x".
func invited(data events.Data, invitations ...string) events.Data {
	s := data.(events.FolderShared)
	for _, text := range invitations {
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
