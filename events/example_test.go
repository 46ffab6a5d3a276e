package events_test

import (
	"context"
	"fmt"

	"annals/events"
	"annals/events/memory"

	"github.com/google/uuid"
)

// An append passes the revision that its author has last seen, and reading returns the
// appended structs.
func Example() {
	ctx := context.Background()
	log := events.NewLog(memory.New()) // or sqlite.Open, to store the events in a file
	defer log.Close()

	folder := uuid.MustParse("5a6f0c9d-3e41-4b7a-8f16-2c9d0e1b3a47")
	cause := events.Cause{Actor: "user:alice", Via: "vault"}
	created, err := log.Append(ctx, events.Folders, events.NoStream, cause,
		events.New{Data: events.FolderCreated{Folder: folder, Name: "Reports", Owner: "user:alice"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = log.Append(ctx, events.Folders, created.Revision, cause,
		events.New{Data: events.FolderRenamed{Folder: folder, Name: "Annual reports"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// An append by an author who has not seen the second event is a conflict.
	_, err = log.Append(ctx, events.Folders, created.Revision, cause,
		events.New{Data: events.FolderDeleted{Folder: folder}})
	fmt.Println(err)

	batch, _, err := log.Read(ctx, 0, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range batch {
		switch d := e.Data.(type) {
		case events.FolderCreated:
			fmt.Printf("%d: %s created %q\n", e.Revision, e.Metadata.Actor, d.Name)
		case events.FolderRenamed:
			fmt.Printf("%d: %s renamed it %q\n", e.Revision, e.Metadata.Actor, d.Name)
		}
	}
	// Output:
	// append to folders: it ends at revision 1, not 0
	// 0: user:alice created "Reports"
	// 1: user:alice renamed it "Annual reports"
}
