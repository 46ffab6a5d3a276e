package importer

import (
	"context"
	"encoding/binary"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

// isRevision reports whether a file is new content for one document, which the request named
// by its id, or is the document's own original that is read again.
func isRevision(f events.FileAccepted) bool { return f.Document != uuid.Nil }

// firstAttempt returns the number of the first text stream of a file. For a revision it is
// computed from the job's id. So a resumed job finds its own text stream, and concurrent
// revisions of a document use different text streams.
func firstAttempt(f commands.ImportFile) int {
	if !isRevision(f.Accepted) {
		return 0
	}
	return maxAttempts + int(binary.BigEndian.Uint32(f.Job[:4])>>1)
}

// readable returns the file with a name whose extension fits its media type, because the
// extension determines the reader. The document of a revision may have been renamed since.
func readable(f events.FileAccepted) events.FileAccepted {
	switch {
	case f.Reread: // the file is still of the type as which it was read, whatever its name is now
		f.Name = extract.NameOf(f.Name, f.MediaType)
	case isRevision(f):
		f.Name = extract.NameFor(f.Name, f.MediaType)
	}
	return f
}

// revise makes the file's content that of its document, unless the document has this content
// already.
func (r *run) revise(ctx context.Context) (err error) {
	if r.claim, err = r.Handler.ClaimRevision(ctx, r.file); err != nil {
		return markFinal(err)
	}
	if r.claim.Filed {
		return errFiled
	}
	r.located, r.text.document = true, r.claim.Document
	content, err := r.read(ctx)
	if err != nil {
		return err
	}
	if err := r.progress.at(ctx, "filing", ""); err != nil {
		return err
	}
	r.claim, err = r.Handler.FileRevision(ctx, r.file, content)
	failpoint.Here(failpoint.DocumentRevised)
	return markFinal(err)
}

// finalConflict is a conflict that the user must resolve: a retry would fail again.
type finalConflict struct{ error }

func (c finalConflict) Unwrap() error { return c.error }

// markFinal marks err as a finalConflict if it is a conflict.
func markFinal(err error) error {
	if fault.Is(err, fault.Conflict) {
		return finalConflict{err}
	}
	return err
}
