package events_test

import (
	"context"
	"fmt"

	"annals/events"
	"annals/events/memory"

	"github.com/google/uuid"
)

// A log takes events under the revision that their author saw, and gives them
// back as the structs they were.
func Example() {
	ctx := context.Background()
	log := events.NewLog(memory.New()) // or sqlite.Open, which keeps them
	defer log.Close()

	folder := uuid.MustParse("5a6f0c9d-3e41-4b7a-8f16-2c9d0e1b3a47")
	cause := events.Cause{Actor: "user:alice", Via: "vault"}
	made, err := log.Append(ctx, events.Folders, events.NoStream, cause,
		events.New{Data: events.FolderCreated{Folder: folder, Name: "Reports", Owner: "user:alice"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = log.Append(ctx, events.Folders, made.Revision, cause,
		events.New{Data: events.FolderRenamed{Folder: folder, Name: "Annual reports"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Whoever did not see the second event cannot add another in its place.
	_, err = log.Append(ctx, events.Folders, made.Revision, cause,
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
			fmt.Printf("%d: %s made %q\n", e.Revision, e.Metadata.Actor, d.Name)
		case events.FolderRenamed:
			fmt.Printf("%d: %s renamed it %q\n", e.Revision, e.Metadata.Actor, d.Name)
		}
	}
	// Output:
	// append to folders: it ends at revision 1, not 0
	// 0: user:alice made "Reports"
	// 1: user:alice renamed it "Annual reports"
}
