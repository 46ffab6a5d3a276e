package importer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"

	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/fault"
)

// checkReread returns an error if less of the file was recognised than when the document's text
// was read: the document then keeps that text.
func (r *run) checkReread(ctx context.Context, info extract.Info) error {
	before, err := r.Handler.ContentOf(ctx, r.text.document)
	if err != nil || info.UnreadPages <= before.UnreadPages || info.OCRPages >= before.OCRPages {
		return err
	}
	why := strings.Join(r.warnings(info.Warnings), " ")
	return fault.Errorf(fault.Invalid, "the document keeps its text, because text was now recognised on %d of its scanned pages, and on %d when it was read before. %s", info.OCRPages, before.OCRPages, why)
}

// appendText appends the text of the file. If the file was read again, and the document has the
// same text already, it appends nothing: the document then names the stream of that text.
func (r *run) appendText(ctx context.Context) error {
	if !r.file.Accepted.Reread {
		return r.text.append(ctx)
	}
	before, err := r.Handler.ContentOf(ctx, r.text.document)
	if err != nil {
		return err
	}
	same, err := r.text.equals(ctx, before)
	if err != nil {
		return err
	}
	if same {
		r.text.named, r.text.written = before.TextStream, before.TextBytes
		return nil
	}
	return r.text.append(ctx)
}

// equals reports whether the sections are those of the text of c. A text that cannot be read
// any more equals no other.
func (w *textWriter) equals(ctx context.Context, c events.Content) (bool, error) {
	if w.sections != c.Sections {
		return false, nil
	}
	before, now := sha256.New(), sha256.New()
	err := w.log.ReadStream(ctx, c.TextStream, 0, func(e events.Event) error {
		return json.NewEncoder(before).Encode(e.Data)
	})
	if errors.Is(err, events.ErrUnreadable) {
		return false, nil
	}
	if err == nil {
		err = w.spool.each(func(s spooled) error { return json.NewEncoder(now).Encode(s.SectionExtracted) })
	}
	return [sha256.Size]byte(before.Sum(nil)) == [sha256.Size]byte(now.Sum(nil)), err
}
