package importer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"annals/events"
	"annals/events/failpoint"
)

// locateReplaced finds which document of its folder the file takes the place of;
// errFiled where nothing of it need be read.
func (r *run) locateReplaced(ctx context.Context) (err error) {
	if r.claim, err = r.Handler.ClaimReplacement(ctx, r.file, r.folder); err != nil {
		return settle(err)
	}
	if r.claim.Same && !r.claim.Filed {
		err = r.fileReplacement(ctx, events.Content{})
	}
	if err == nil && r.claim.Filed {
		err = errFiled
	}
	r.text.document = r.claim.Document
	r.text.attempt = r.replacementAttempt()
	r.text.end = r.text.attempt + maxAttempts
	return err
}

// replacementAttempt is where the attempts at the text begin: at a number of the
// upload's and of the version that it replaces. Once a document names a text,
// read models drop other texts of it, so a file that is read again for
// another version appends its text again.
func (r *run) replacementAttempt() int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s@%d@%d", r.file.Job, r.file.Accepted.File, r.claim.Version))
	return 2*maxAttempts + int(binary.BigEndian.Uint32(sum[:])>>1)
}

// fileReplacement makes what was read the content of the document, or a new one.
// The read side is asked for the same bytes before.
func (r *run) fileReplacement(ctx context.Context, content events.Content) (err error) {
	if err = r.lookElsewhere(ctx, r.folder); err != nil {
		return err
	}
	r.claim, err = r.Handler.FileReplacement(ctx, r.file, r.claim, content)
	failpoint.Here(failpoint.DocumentReplaced)
	return r.refused(ctx, err)
}
