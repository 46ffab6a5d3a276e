package pdfium

import (
	"context"
	"slices"

	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// Draw draws a page of the file that is being read. Its errors are those of Readers.Draw.
type Draw func(ctx context.Context, how Drawing) (Picture, error)

// Scan reads a scanned page, which is a payload and may be hostile. It may call draw, but only
// before it returns. The page with its text, or the unchanged one, then arrives on the channel,
// at the latest when ctx ends. An error of Scan is returned by Read.
type Scan func(ctx context.Context, page []byte, draw Draw) (<-chan []byte, error)

// read reads the pages of a chunk in a session.
func (s *parallel) read(ctx context.Context, r *session, c *chunk) error {
	stop := context.AfterFunc(ctx, c.drop)
	defer stop()
	for r.pages = c.first - 1; r.pages < c.last; {
		scanned, err := r.read(ctx, c, s.file.Scan != nil)
		if err == nil && scanned != nil {
			err = s.scan(ctx, r, c, scanned)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads pages of a chunk: all that are left or, if scans is set, those before the next
// scanned page, which it returns.
func (r *session) read(ctx context.Context, c *chunk, scans bool) (scanned []byte, err error) {
	err = r.send(ctx, request{first: r.pages + 1, last: c.last, scans: scans}, nil, func(k process.Kind, payload []byte) error {
		d := process.Decoder{B: payload}
		if number := d.Int(); k != pageFrame || number != r.pages+1 || number > c.last || scanned != nil {
			return errUnexpected
		}
		r.pages++
		page := slices.Clone(payload)
		if scans && isScanned(payload) {
			scanned = page
		} else {
			c.put(queued{page: page})
		}
		return nil
	})
	if err == nil && scanned == nil && r.pages < c.last {
		err = r.broken(process.Failed)
	}
	return scanned, err
}

// isScanned reports whether an encoded page is scanned.
func isScanned(page []byte) bool {
	d := process.Decoder{B: page}
	d.Int()   // number
	d.Float() // width
	d.Float() // height
	d.Bool()  // blank
	d.Bool()  // broken
	return d.Bool()
}

// scan reads a scanned page. If the process dies while it draws the page, or has drawn for long,
// another one takes its place. Whoever reads scanned pages limits the time of drawing them.
func (s *parallel) scan(ctx context.Context, r *session, c *chunk, page []byte) error {
	if s.scanning.CompareAndSwap(false, true) {
		s.scans.Add(1)
	}
	later, err := s.file.Scan(ctx, page, func(ctx context.Context, how Drawing) (Picture, error) {
		return r.draw(ctx, how)
	})
	if err != nil {
		return err
	}
	c.put(queued{later: later})
	if r.drawn > r.config.Time/4 { // its time of the processor is limited, like that of reading
		r.Unusable = true
	}
	if !r.Unusable || ctx.Err() != nil {
		return ctx.Err()
	}
	p, err := s.pool.Take(ctx, true)
	if err != nil {
		return err
	}
	s.pool.Release(r.Process)
	r.Process, r.drawn = p, 0
	if _, err = r.open(ctx, s.file, s.pages, true); fault.Is(err, fault.Invalid) {
		err = r.broken(process.Failed) // was opened before
	}
	return err
}
