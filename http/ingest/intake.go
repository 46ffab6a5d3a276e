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
	"time"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
)

// Intake receives the files of one import. They have no effect before Accept. In every case
// the caller must call Discard in the end.
type Intake struct {
	Store       originals.Store
	FileBytes   int64             // maximum size of a file
	Formats     extract.Formats   // formats of files that may be imported; none means extract.StandardFormats
	Hold        *quota.Hold       // reserves the user's quota for the files; nil if there are no limits
	Key         string            // idempotency key of the request; "" if it has none
	Correlation string            // id of the request
	Files       []commands.Upload // in the order of Add, without folders and tags

	// Replaces reports whether a file, given its index in Files, may replace a document
	// instead of becoming a new one. May be nil.
	Replaces func(file int) bool

	staged map[int]originals.Staged // by index in Files
}

// Add streams one file to the store. If the file cannot be imported, Add marks it as refused
// and may not read all of it. Errors from reading content are wrapped.
func (in *Intake) Add(ctx context.Context, name string, content io.Reader) error {
	var f commands.Upload
	f.Name, f.Refused = fileName(name)
	var known bool
	if len(in.Formats) == 0 {
		in.Formats = extract.StandardFormats()
	}
	if f.MediaType, known = in.Formats.Supports(f.Name); f.Refused != "" {
		f.MediaType = ""
	} else if !known {
		f.Refused = "files of this type cannot be imported; these can: " + in.Formats.String()
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

// reserve reserves quota for files before any of their bytes are stored. It reserves no
// document quota for a file that may replace a document; that quota is checked later.
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

// AcceptTimeout is the maximum duration of Accept.
const AcceptTimeout = time.Minute

// Accept starts a job for the files. If ctx ends while Accept runs, Accept continues, because
// all files were received.
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

// Discard deletes the files that were stored but not accepted. It releases the quota that is
// reserved for them.
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
	// StartKeyedImport starts a job. If the user has started a job with the same key before,
	// it returns that job. With the key "" it always starts a new job.
	StartKeyedImport(ctx context.Context, user events.User, correlation, key string, uploads []commands.Upload) (commands.Started, error)
}

// Commands are the commands that Upload needs.
type Commands interface {
	Importer

	HoldRepeat(ctx context.Context, user events.User) (*quota.Hold, error)
	KeyedImport(ctx context.Context, user events.User, key string) (*commands.KeyedImport, error)
}
