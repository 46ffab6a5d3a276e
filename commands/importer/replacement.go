package importer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"annals/events"
	"annals/events/failpoint"
)

// locateReplaced claims the document in the folder that the file replaces. The error is
// errFiled if the file need not be read.
func (r *run) locateReplaced(ctx context.Context) (err error) {
	if r.claim, err = r.Handler.ClaimReplacement(ctx, r.file, r.folder); err != nil {
		return markFinal(err)
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

// replacementAttempt returns the number of the first text stream to use. It is a hash of the
// upload and of the version that the upload replaces. When a document gets a new version, the
// read models drop all text streams of the document that no version refers to. So if the
// document gets a version while the file is being read, the file is read again and must use
// another text stream.
func (r *run) replacementAttempt() int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s@%d@%d", r.file.Job, r.file.Accepted.File, r.claim.Version))
	return 2*maxAttempts + int(binary.BigEndian.Uint32(sum[:])>>1)
}

// fileReplacement files the content as a new version of the document, or as a new document.
func (r *run) fileReplacement(ctx context.Context, content events.Content) (err error) {
	if err = r.findOther(ctx, r.folder); err != nil {
		return err
	}
	r.claim, err = r.Handler.FileReplacement(ctx, r.file, r.claim, content)
	failpoint.Here(failpoint.DocumentReplaced)
	return r.explainRefusal(ctx, err)
}
