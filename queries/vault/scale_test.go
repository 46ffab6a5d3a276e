package vault_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// In these benchmarks alice has 20,000 documents in 200 folders. Bob may read five of
// the folders.
const (
	manyFolders = 200
	perFolder   = 100
	sharedTo    = 5 // number of folders shared with bob
)

var commonBytes = strings.Repeat("0c", 32)

func manyDocuments(t testing.TB) *fixture {
	f := newFixture(t)
	home := f.AddFolder(uuid.Nil, "Home", "user:alice")
	for i := range manyFolders {
		folder := f.AddFolder(home, fmt.Sprintf("Folder %d", i), "")
		if i >= manyFolders-sharedTo {
			f.Share(folder, "user:bob", "read")
		}
		for j := range perFolder {
			f.Append(events.DocumentStream(uuid.New()), events.DocumentImported{Version: 1, Folder: folder, Name: fmt.Sprintf("%d.pdf", j*manyFolders+i),
				Tags: []string{"all", fmt.Sprintf("t%d", i%50)}, Content: events.Content{SHA256: commonBytes, MediaType: "application/pdf", Title: "T"}})
		}
	}
	f.Await(f.Models.Vault)
	return f
}

// reads are queries whose cost depends on the number n of documents that the user may
// read.
func (f *fixture) reads(user events.User, n int) map[string]func() error {
	list := func(limit int) func() error {
		return func() error {
			docs, _, err := f.vault.Documents(f.t.Context(), user, vault.DocumentFilter{Tag: "all", Limit: limit})
			if want := cmp.Or(limit, n); err == nil && len(docs) != want {
				return fmt.Errorf("Documents: got %d, want %d", len(docs), want)
			}
			return err
		}
	}
	return map[string]func() error{
		"Tags": func() error {
			tags, err := f.vault.VisibleTags(f.t.Context(), user)
			if err == nil && (len(tags) != min(51, n/perFolder+1) || !slices.IsSorted(tags)) {
				return fmt.Errorf("VisibleTags = %v", tags)
			}
			return err
		},
		"Page":    list(10),
		"Listing": list(0),
		"Duplicate": func() error {
			if _, found, err := f.vault.DuplicateOf(f.t.Context(), user, uuid.Nil, commonBytes); err != nil || !found {
				return fmt.Errorf("DuplicateOf: found is %v, %v", found, err)
			}
			return nil
		},
	}
}

// The cost of a query depends only on what the user may read. Queries of bob, who may
// read 500 of 20,000 documents, take a fraction of the time of alice's.
func BenchmarkReadsOfManyDocuments(b *testing.B) {
	f := manyDocuments(b)
	for _, u := range []struct {
		user events.User
		n    int
	}{{bob, sharedTo * perFolder}, {alice, manyFolders * perFolder}, {admin, manyFolders * perFolder}} {
		for name, read := range f.reads(u.user, u.n) {
			b.Run(string(u.user.Principal)+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
