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

// isRevision reports whether a file is new content of a document named in the request.
func isRevision(f events.FileAccepted) bool { return f.Document != uuid.Nil }

// firstAttempt returns the number of the first text stream of a file. For a revision it is
// taken from the job's id, so a resumed job finds its own text stream, and concurrent
// revisions of a document use different ones.
func firstAttempt(f commands.ImportFile) int {
	if !isRevision(f.Accepted) {
		return 0
	}
	return maxAttempts + int(binary.BigEndian.Uint32(f.Job[:4])>>1)
}

// readable returns the file with a name that has the extension of its media type, by which
// the reader is chosen. The document of a revision may have been renamed.
func readable(f events.FileAccepted) events.FileAccepted {
	if isRevision(f) {
		f.Name = extract.NameFor(f.Name, f.MediaType)
	}
	return f
}

// revise makes the file the content of its document, unless it is already.
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

// finalConflict is a conflict that a retry cannot resolve, only the user.
type finalConflict struct{ error }

func (c finalConflict) Unwrap() error { return c.error }

// markFinal marks err as a finalConflict if it is a conflict.
func markFinal(err error) error {
	if fault.Is(err, fault.Conflict) {
		return finalConflict{err}
	}
	return err
}
