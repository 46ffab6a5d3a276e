package main

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"annals/cmd/annals/client"
)

// uploads lists the files below the local directory dir, in batches of at most
// perRequest files. Their target folders have the same paths below folder.
func uploads(dir, folder string, perRequest int) (batches [][]client.File, err error) {
	var all []client.File
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		all = append(all, client.File{Path: name, Folder: path.Join(folder, filepath.ToSlash(filepath.Dir(rel)))})
		return err
	})
	return slices.Collect(slices.Chunk(all, perRequest)), err
}

// uploadAll uploads all files below the local directory dir in one request, and returns
// the job.
func uploadAll(ctx context.Context, core *client.Core, dir, folder string) (job client.Job, err error) {
	batches, err := uploads(dir, folder, 10_000)
	if err == nil {
		job, _, err = core.Upload(ctx, batches[0])
	}
	return job, err
}

// writeFile writes a file below dir, and creates its directory.
func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
