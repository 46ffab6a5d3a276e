package mirror

import (
	"context"
	"path"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Folder is a folder on the server.
type Folder struct{ ID, Name string }

// Lister lists the documents and folders directly in a folder on the server. Listed
// documents have their name as Path.
type Lister interface {
	Subfolders(ctx context.Context, folder string) ([]Folder, error)
	Documents(ctx context.Context, folder string) ([]Document, error)
}

// Tree contains all documents below a folder, and the ids of all folders by path. Paths
// are relative to the folder, whose own path is "".
type Tree struct {
	Folders   map[string]string
	Documents []Document
}

// List lists everything below a folder. It sends up to parallel requests concurrently.
func List(ctx context.Context, from Lister, folder string, parallel int) (Tree, error) {
	t := Tree{Folders: map[string]string{"": folder}}
	var mu sync.Mutex
	for level := map[string]string{"": folder}; len(level) > 0; {
		below := make(map[string]string)
		g, whole := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for at, id := range level {
			g.Go(func() error {
				documents, err := from.Documents(whole, id)
				if err != nil {
					return err
				}
				folders, err := from.Subfolders(whole, id)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				for _, d := range documents {
					d.Path = path.Join(at, d.Path)
					t.Documents = append(t.Documents, d)
				}
				for _, f := range folders {
					name := path.Join(at, f.Name)
					t.Folders[name], below[name] = f.ID, f.ID
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return Tree{}, err
		}
		level = below
	}
	return t, nil
}
