package http

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

// Intake takes in the files of one import, wherever they come from. Nothing of
// them counts until Accept has returned, and Discard is called in the end.
type Intake struct {
	Store     originals.Store
	FileBytes int64             // of one file at most
	Hold      *quota.Hold       // what the files take of their user's limits; nil: there are none
	Key       string            // of the request, by which a repeated one is recognised; may be empty
	Files     []commands.Upload // as they were added; without folders and tags

	// Replaces reports whether it is known of a file that it may become no document
	// of its own, by its place among Files. Nil: of none.
	Replaces func(file int) bool

	staged map[int]originals.Staged // by their places among Files
}

// Add stores one file, of which nothing is held in memory. One that will not be
// read is noted as refused, and nothing or not all of it is read. An error of
// content is returned wrapped.
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
	if err := in.take(1); err != nil {
		return err
	}
	counted := in.Hold.Reader(content)
	staged, err := in.Store.Stage(ctx, counted, in.FileBytes)
	switch {
	case err != nil && in.Hold.Over() != nil:
		return in.Hold.Over()
	case fault.Is(err, fault.TooLarge):
		counted.Undo()
		_ = in.take(-1)
		f.Refused = fmt.Sprintf("the file is larger than the %d bytes that are allowed", in.FileBytes)
		return nil
	case err != nil:
		return fmt.Errorf("store %q: %w", f.Name, err)
	}
	f.Size = staged.Size()
	if f.Size == 0 {
		f.Refused = "the file is empty"
		_ = in.take(-1)
		return staged.Discard()
	}
	f.SHA256 = staged.SHA256()
	if in.staged == nil {
		in.staged = make(map[int]originals.Staged)
	}
	in.staged[len(in.Files)] = staged
	return nil
}

// take takes room for files before any of their bytes are stored. Whether there is
// room for a document is judged later of those that may become none.
func (in *Intake) take(files int64) error {
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

// acceptance is how long it may take to make an upload count.
const acceptance = time.Minute

// Accept makes the files count, as a job of the user. It goes on when ctx ends:
// whoever asked has given everything.
func (in *Intake) Accept(ctx context.Context, to Importer, user events.User) (commands.Started, error) {
	if err := ctx.Err(); err != nil {
		return commands.Started{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptance)
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
		return commands.Started{}, fmt.Errorf("keep %d uploaded files: %w", len(kept), err)
	}
	return to.StartKeyedImport(quota.With(ctx, in.Hold), user, Correlation(ctx), in.Key, in.Files)
}

// Discard throws away what was stored and not accepted, and gives back what that
// took.
func (in *Intake) Discard() error {
	defer in.Hold.Close()
	var errs []error
	for _, s := range in.staged {
		errs = append(errs, s.Discard())
	}
	return errors.Join(errs...)
}
