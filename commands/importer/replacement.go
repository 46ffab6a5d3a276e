package importer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"annals/events"
	"annals/events/failpoint"
)

// locateReplaced finds the document that the file replaces in the folder. It returns
// errFiled if the file need not be read.
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

// replacementAttempt returns the number of the first attempt at the text, derived from the
// upload and from the version that it replaces. Once a document names a text, read models
// drop its other texts. A file that is read again for another version must therefore
// append its text to another stream.
func (r *run) replacementAttempt() int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s@%d@%d", r.file.Job, r.file.Accepted.File, r.claim.Version))
	return 2*maxAttempts + int(binary.BigEndian.Uint32(sum[:])>>1)
}

// fileReplacement files the content as a new version of the document, or as a new
// document. Before that it asks the read side for the same bytes.
func (r *run) fileReplacement(ctx context.Context, content events.Content) (err error) {
	if err = r.lookElsewhere(ctx, r.folder); err != nil {
		return err
	}
	r.claim, err = r.Handler.FileReplacement(ctx, r.file, r.claim, content)
	failpoint.Here(failpoint.DocumentReplaced)
	return r.refused(ctx, err)
}
