// Package images reads image files for pdfium.Readers, as documents whose pages are all scanned. It
// runs in confined processes. It imports extract/pdf/pdfium, extract/process and extract/raster.
package images

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"

	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/raster"
)

// dpi is the resolution that is assumed for images. What they say of themselves is often
// the resolution of a screen.
const dpi = 200

// overhead is the number of bytes that a process needs in addition to a decoded page: for the
// program, and for a picture of the page.
const overhead = 160 << 20

// server handles the requests of pdfium.Readers.
type server struct {
	conn   *process.Server
	memory int64 // limit for a decoded page
	file   *os.File
	open   *raster.File // nil if no file is open
}

// Serve runs in a process that pdfium.Readers started. It reads images until the connection is
// closed. It limits the memory of the process to memory bytes.
func Serve(memory int64) error {
	s := &server{memory: max(memory, pdfium.LeastMemory) - overhead}
	return process.Serve(memory, func() (int64, error) { return 0, nil }, func(conn *process.Server, f process.Frame) error {
		s.conn = conn
		req, err := pdfium.DecodeRequest(f)
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		err = s.respond(req)
		var unread raster.Error
		if errors.As(err, &unread) {
			return pdfium.Fail(conn, string(unread))
		}
		if err != nil {
			return err
		}
		return conn.Send(pdfium.DoneFrame, nil, nil)
	})
}

// respond handles a request. An error that is no raster.Error makes the process exit.
func (s *server) respond(req pdfium.Request) (err error) {
	switch {
	case req.Open:
		return s.openFile(req)
	case req.First > 0 && s.open != nil:
		return s.read(req.First, req.Last, req.Scans)
	case req.Draw.Page > 0 && s.open != nil && req.Draw.Page <= s.open.Pages():
		return s.draw(req.Draw)
	case req.First > 0 || req.Draw.Page > 0:
		return errors.New("read an image: no file is open, or the page does not exist")
	}
	return s.close()
}

func (s *server) close() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file, s.open = nil, nil
	return file.Close()
}

func (s *server) openFile(req pdfium.Request) error {
	if err := s.close(); err != nil {
		return err
	}
	var err error
	if s.file, err = s.conn.File(req.Path); err != nil {
		return err
	}
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if s.open, err = raster.Open(s.file, info.Size(), s.memory); err != nil {
		return errors.Join(err, s.close())
	}
	pages := s.open.Pages()
	if req.MaxPages > 0 && pages > req.MaxPages {
		err := raster.Error(fmt.Sprintf("the image has %d pages, and the limit is %d (--max-pages): split it, and upload the parts", pages, req.MaxPages))
		return errors.Join(err, s.close())
	}
	if err := s.open.Check(); err != nil {
		return errors.Join(err, s.close())
	}
	return s.conn.Send(pdfium.OpenedFrame, pdfium.Document{Pages: pages}.Encode(), nil)
}

// read sends pages of the open file. If scans is set, the first one is the last one.
func (s *server) read(first, last int, scans bool) error {
	for n := first; n <= min(last, s.open.Pages()); n++ {
		page := pdfium.Page{Number: n}
		if w, h, err := s.open.Size(n); err != nil {
			page.Broken = true
		} else {
			page.Width, page.Height, page.Scanned = float32(w)*72/dpi, float32(h)*72/dpi, true
		}
		var e process.Encoder
		page.Encode(&e)
		if err := s.conn.Send(pdfium.PageFrame, e.B, nil); err != nil {
			return err
		}
		if scans && page.Scanned {
			return nil
		}
	}
	return nil
}

// draw sends a page as a picture, in the form of pdfium.Drawing.
func (s *server) draw(r pdfium.Drawing) error {
	w, h, err := s.open.Size(r.Page)
	if err != nil {
		return err
	}
	w, h = r.Size(float32(w), float32(h))
	picture, err := s.open.Draw(r.Page, w, h, r.Grey)
	if err != nil {
		return err
	}
	if err := s.conn.Write(pdfium.PictureFrame, new(process.Encoder).Int(r.Page).Int(w).Int(h).B); err != nil {
		return err
	}
	out, flush := pdfium.Pieces(s.conn)
	if grey, ok := picture.(*image.Gray); ok && r.Raw {
		if _, err := out.Write(grey.Pix); err != nil {
			return err
		}
		return flush()
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(out, picture); err != nil {
		return fmt.Errorf("encode page %d of the image as PNG: %w", r.Page, err)
	}
	return flush()
}
