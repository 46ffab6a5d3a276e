package pdfium

import (
	"context"
	"errors"
	"slices"
	"time"

	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// maxPNG limits the bytes of a picture as a PNG file. Pixels that cannot be compressed take
// four bytes, and PNG adds less than a thousandth.
const maxPNG = 4*MaxPicturePixels + 1<<20

// viewTime limits the time for a page that somebody waits for.
const viewTime = 20 * time.Second

// collector puts the frames of a picture together. They come from a process that may be
// hostile.
type collector struct {
	Drawing
	picture Picture
	begun   bool
}

// add adds a frame.
func (c *collector) add(k process.Kind, payload []byte) error {
	switch {
	case k == pictureFrame && !c.begun:
		d := process.Decoder{B: payload}
		page, w, h := d.Int(), d.Int(), d.Int()
		if d.End() != nil || page != c.Page || w < 1 || h < 1 || w > MaxPictureSide || h > MaxPictureSide || w*h > c.Pixels {
			return errUnexpected
		}
		c.begun, c.picture = true, Picture{Width: w, Height: h}
		if c.Raw {
			c.picture.Data = make([]byte, 0, w*h)
		}
		return nil
	case k == pieceFrame && c.begun && len(c.picture.Data)+len(payload) <= c.limit():
		c.picture.Data = append(c.picture.Data, payload...)
		return nil
	}
	return errUnexpected
}

// limit returns the maximum number of bytes of the picture.
func (c *collector) limit() int {
	if c.Raw {
		return c.picture.Width * c.picture.Height
	}
	return maxPNG
}

// complete reports whether the whole picture has arrived.
func (c *collector) complete() bool {
	return c.begun && len(c.picture.Data) > 0 && (!c.Raw || len(c.picture.Data) == c.limit())
}

// draw draws a page of the open file.
func (r *session) draw(ctx context.Context, how Drawing) (Picture, error) {
	how.Pixels = r.config.Pixels
	c := &collector{Drawing: how}
	before := r.spent
	err := r.send(ctx, request{draw: how}, nil, c.add)
	if err == nil && !c.complete() {
		err = r.broken(process.Failed)
	}
	r.drawn += r.spent - before
	r.spent = before
	return c.picture, err
}

// Draw draws a page of a file. It uses a process in addition to those that read files, so
// callers limit how many pages are drawn at a time. The error is of kind fault.NotFound if the
// file has no such page, and fault.Invalid, with a text for the user, if the page cannot be
// drawn.
func (r *Readers) Draw(ctx context.Context, file File, how Drawing) (picture Picture, err error) {
	err = r.view(ctx, file, how.Page, func(s *session) error {
		picture, err = s.draw(ctx, how)
		return err
	})
	return picture, err
}

// ReadPage reads one page of a file, with the process and the errors of Draw. The page may be
// hostile.
func (r *Readers) ReadPage(ctx context.Context, file File, number int) (page []byte, err error) {
	err = r.view(ctx, file, number, func(s *session) error {
		page, err = s.page(ctx, number)
		return err
	})
	return page, err
}

// page reads a single page.
func (r *session) page(ctx context.Context, number int) (page []byte, err error) {
	err = r.send(ctx, request{first: number, last: number}, nil, func(k process.Kind, payload []byte) error {
		d := process.Decoder{B: payload}
		if k != pageFrame || d.Int() != number || page != nil {
			return errUnexpected
		}
		page = slices.Clone(payload)
		return nil
	})
	if err == nil && page == nil {
		err = r.broken(process.Failed)
	}
	return page, err
}

// view opens a file in a process that no file is being read in, and calls do. If the process
// died, and earlier files may be the cause, view tries again in a new process.
func (r *Readers) view(ctx context.Context, file File, page int, do func(*session) error) error {
	if err := r.compile(ctx); err != nil {
		return err
	}
	err := r.viewIn(ctx, file, page, false, do)
	var died *process.Died
	if errors.As(err, &died) {
		err = r.viewIn(ctx, file, page, true, do)
	}
	if errors.As(err, &died) {
		err = fault.Errorf(fault.Invalid, "page %d cannot be shown: %w", page, died)
	}
	return err
}

func (r *Readers) viewIn(ctx context.Context, file File, page int, fresh bool, do func(*session) error) error {
	p, err := r.pool.Take(ctx, fresh)
	if err != nil {
		return err
	}
	defer r.pool.Release(p)
	config := r.config
	config.PageTime = min(config.PageTime, viewTime)
	s := &session{Process: p, config: &config, viewing: true}
	if _, err := s.open(ctx, file, 0, true); err != nil {
		return err
	}
	s.pages = page - 1
	if page < 1 || page > s.all {
		err = fault.Errorf(fault.NotFound, "the document has %d pages, and no page %d", s.all, page)
	} else {
		err = do(s)
	}
	if !p.Unusable {
		s.finish(ctx)
	}
	return err
}
