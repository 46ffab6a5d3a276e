// Package ingest receives files to import: multipart uploads with their metadata, and
// files from elsewhere. They have no effect until they are accepted. It imports
// commands, commands/quota, commands/importer/extract, events/originals, http/form and
// http/problem.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
)

// Intake receives the files of one import. They have no effect until Accept returns.
// The caller must call Discard in the end.
type Intake struct {
	Store       originals.Store
	FileBytes   int64             // maximum size of a file
	Hold        *quota.Hold       // reserves the user's quota for the files; nil: no limits
	Key         string            // idempotency key of the request; may be empty
	Correlation string            // id of the request
	Files       []commands.Upload // as they were added; without folders and tags

	// Replaces reports whether a file, by its index in Files, may replace a document
	// instead of becoming a new one. May be nil.
	Replaces func(file int) bool

	staged map[int]originals.Staged // by their indexes in Files
}

// Add streams one file to the store. A file that cannot be imported is marked as refused
// and not read to its end. An error from reading content is wrapped.
func (in *Intake) Add(ctx context.Context, name string, content io.Reader) error {
	var f commands.Upload
	f.Name, f.Refused = fileName(name)
	var known bool
	if f.MediaType, known = extract.Supported(f.Name); f.Refused != "" {
		f.MediaType = ""
	} else if !known {
		f.Refused = "files of this type cannot be imported; these can: " + strings.Join(extract.Extensions(), ", ")
	} else if err := in.store(ctx, &f, content); err != nil {
		return err
	}
	in.Files = append(in.Files, f)
	return nil
}

func (in *Intake) store(ctx context.Context, f *commands.Upload, content io.Reader) error {
	if err := in.reserve(1); err != nil {
		return err
	}
	counted := in.Hold.Reader(content)
	staged, err := in.Store.Stage(ctx, counted, in.FileBytes)
	switch {
	case err != nil && in.Hold.Over() != nil:
		return in.Hold.Over()
	case fault.Is(err, fault.TooLarge):
		counted.Undo()
		_ = in.reserve(-1)
		f.Refused = fmt.Sprintf("the file is larger than the limit of %d bytes", in.FileBytes)
		return nil
	case err != nil:
		return fmt.Errorf("store %q: %w", f.Name, err)
	}
	f.Size = staged.Size()
	if f.Size == 0 {
		f.Refused = "the file is empty"
		_ = in.reserve(-1)
		return staged.Discard()
	}
	f.SHA256 = staged.SHA256()
	if in.staged == nil {
		in.staged = make(map[int]originals.Staged)
	}
	in.staged[len(in.Files)] = staged
	return nil
}

// reserve reserves quota for a number of files before any of their bytes are stored. The
// document quota of files that may replace documents is checked later.
func (in *Intake) reserve(files int64) error {
	kinds := []quota.Kind{quota.Imports, quota.Documents}
	if in.Replaces != nil && in.Replaces(len(in.Files)) {
		kinds = kinds[:1]
	}
	for _, k := range kinds {
		if err := in.Hold.Take(k, files); err != nil {
			return err
		}
	}
	return nil
}

// AcceptTimeout is the maximum time for accepting an upload.
const AcceptTimeout = time.Minute

// Accept starts a job for the files. It continues if ctx ends meanwhile, because all
// files were received.
func (in *Intake) Accept(ctx context.Context, to Importer, user events.User) (commands.Started, error) {
	if err := ctx.Err(); err != nil {
		return commands.Started{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AcceptTimeout)
	defer cancel()
	if err := to.AdmitImport(ctx, user, in.Hold, in.Files); err != nil {
		return commands.Started{}, err
	}
	var kept []originals.Staged
	for i, f := range in.Files {
		if f.Refused == "" {
			kept = append(kept, in.staged[i])
		}
	}
	if err := originals.CommitAll(ctx, kept); err != nil {
		return commands.Started{}, fmt.Errorf("commit %d uploaded files: %w", len(kept), err)
	}
	return to.StartKeyedImport(quota.With(ctx, in.Hold), user, in.Correlation, in.Key, in.Files)
}

// Discard deletes the files that were stored but not accepted, and releases their quota.
func (in *Intake) Discard() error {
	defer in.Hold.Close()
	var errs []error
	for _, s := range in.staged {
		errs = append(errs, s.Discard())
	}
	return errors.Join(errs...)
}

// Importer accepts files to import.
type Importer interface {
	CheckImport(ctx context.Context, user events.User, folders []string) error
	HoldImport(ctx context.Context, user events.User) (*quota.Hold, error)
	AdmitImport(ctx context.Context, user events.User, hold *quota.Hold, uploads []commands.Upload) error
	// StartKeyedImport starts one job for all requests of a user with the same key.
	// Without a key each request starts a job.
	StartKeyedImport(ctx context.Context, user events.User, correlation, key string, uploads []commands.Upload) (commands.Started, error)
}

// Commands are the commands that an Upload needs.
type Commands interface {
	Importer

	HoldRepeat(ctx context.Context, user events.User) (*quota.Hold, error)
	KeyedImport(ctx context.Context, user events.User, key string) (*commands.KeyedImport, error)
}
