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

// isRevision reports whether a file is to be the new content of a document.
func isRevision(f events.FileAccepted) bool { return f.Document != uuid.Nil }

// firstAttempt is where the attempts at the text of a file's document begin.
// Those of a revision begin at a number of its job's own: a job that was cut
// off meets what it appended before, and jobs that revise the same document
// at once do not meet each other.
func firstAttempt(f commands.ImportFile) int {
	if !isRevision(f.Accepted) {
		return 0
	}
	return maxAttempts + int(binary.BigEndian.Uint32(f.Job[:4])>>1)
}

// readable is the file under a name that tells how to read it. A document may
// have been renamed to one that does not: then its media type tells.
func readable(f events.FileAccepted) events.FileAccepted {
	if isRevision(f) {
		f.Name = extract.NameFor(f.Name, f.MediaType)
	}
	return f
}

// revise makes the file the content of its document, if it is not yet.
func (r *run) revise(ctx context.Context) (err error) {
	if r.claim, err = r.Handler.ClaimRevision(ctx, r.file); err != nil {
		return settle(err)
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
	return settle(err)
}

// overtaken is a conflict that the user is to solve: unlike one of an import
// it does not pass when the file is read again.
type overtaken struct{ error }

func (o overtaken) Unwrap() error { return o.error }

// settle tells the conflicts of a revision from those that pass.
func settle(err error) error {
	if fault.Is(err, fault.Conflict) {
		return overtaken{err}
	}
	return err
}
