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

// isRevision reports whether a file is new content for a given document.
func isRevision(f events.FileAccepted) bool { return f.Document != uuid.Nil }

// firstAttempt returns the number of the first attempt at the text of a file's document.
// For a revision it is derived from the job, so a resumed job finds its own text stream,
// and concurrent revisions of a document use different ones.
func firstAttempt(f commands.ImportFile) int {
	if !isRevision(f.Accepted) {
		return 0
	}
	return maxAttempts + int(binary.BigEndian.Uint32(f.Job[:4])>>1)
}

// readable returns the file with a name whose extension fits its media type, because the
// document may have been renamed.
func readable(f events.FileAccepted) events.FileAccepted {
	if isRevision(f) {
		f.Name = extract.NameFor(f.Name, f.MediaType)
	}
	return f
}

// revise makes the file the content of its document, unless it is already.
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

// overtaken is a conflict that only the user can resolve: reading the file again does not
// help.
type overtaken struct{ error }

func (o overtaken) Unwrap() error { return o.error }

// settle marks a conflict as one that a retry cannot resolve.
func settle(err error) error {
	if fault.Is(err, fault.Conflict) {
		return overtaken{err}
	}
	return err
}
