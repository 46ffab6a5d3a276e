package reader

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/images"
	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/pdf"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// Main runs in a process started by Options.Command, with the arguments after the command.
// It reads files until the Reader that started it closes the connection.
func Main(args []string) error {
	if len(args) == 0 {
		return errors.New("the kind of reader is missing: pass pdf, text, ocr or image")
	}
	if args[0] == kindOCR {
		return ocr.Main(args[1:])
	}
	flags := flag.NewFlagSet("reader", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	memory := flags.Int64("memory", 0, "memory limit in bytes")
	cache := flags.String("cache", "", "folder for compiled code")
	compile := flags.Bool("compile", false, "compile PDFium and exit")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == kindPDF && *compile:
		return pdfium.Compile(*cache)
	case args[0] == kindPDF:
		return pdfium.Serve(*memory, *cache)
	case args[0] == kindImage:
		return images.Serve(*memory)
	case args[0] == kindText:
		return process.Serve(*memory, func() (int64, error) { return 0, nil }, respond)
	}
	return fmt.Errorf("unknown kind of reader %q: pass pdf, text, ocr or image", args[0])
}

// The kinds of processes: one runs PDFium, one reads all other formats, and turns the pages from
// PDFium into sections, one runs Tesseract, and one decodes images.
const (
	kindPDF   = "pdf"
	kindText  = "text"
	kindOCR   = "ocr"
	kindImage = "image"
)

// respond reads a file. An error makes the process exit.
func respond(conn *process.Server, f process.Frame) error {
	req, err := decodeRequest(f.Payload)
	if f.Kind != requestFrame || err != nil {
		return errors.New("read a request: unexpected frame")
	}
	file, err := conn.File(req.path)
	if err != nil {
		return err
	}
	defer file.Close()
	a := &response{conn: conn, flushed: time.Now()}
	// The service enforces the time limit, so this process has none.
	req.limits.Time = 1 << 62
	r := &local{limits: req.limits, allowed: extract.AllFormats(), formats: formats(a.pdf)}
	info, err := r.readFile(context.Background(), file, req.name, a.emit, a.step)
	if a.failed != nil {
		return a.failed
	}
	if err != nil {
		text := err.Error()
		f := failure{text: strings.ToValidUTF8(text[:min(len(text), maxWarning)], ""), file: fault.Is(err, fault.Invalid), last: a.last}
		err = conn.Send(failedFrame, f.encode(), nil)
	} else {
		err = conn.Send(doneFrame, encodeInfo(info, a.last), nil)
	}
	if err == nil && a.last {
		err = errors.New("discard the rest of a PDF: exit")
	}
	return err
}

// response is a response that is being sent.
type response struct {
	conn    *process.Server
	enc     process.Encoder
	flushed time.Time
	failed  error // error of sending the response
	last    bool  // the process exits after the response, because it has not received all pages of the PDF
}

// emit sends a part of a section. The buffer is flushed ten times a second.
func (a *response) emit(s extract.Section) error {
	a.enc.B = a.enc.B[:0]
	encodeSection(&a.enc, s)
	a.send(sectionFrame)
	return a.failed
}

func (a *response) send(k process.Kind) {
	a.failed = errors.Join(a.failed, a.conn.Write(k, a.enc.B))
	if now := time.Now(); now.Sub(a.flushed) > time.Second/10 {
		a.failed = errors.Join(a.failed, a.conn.Flush())
		a.flushed = now
	}
}

func (a *response) step(step string, page, pages int) {
	a.enc.B = a.enc.B[:0]
	a.enc.Text(step)
	a.enc.Int(page)
	a.enc.Int(pages)
	a.send(stepFrame)
}

// pdf turns the pages that follow the request into sections. If PDFium failed after some
// pages, pdf keeps these pages and adds a warning.
func (a *response) pdf(_ context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	w.Reserve(extract.Allowance(f.Size) / 2) // the amount of text is unknown
	var doc pdfium.Document
	var layout *pdf.Layout
	if a.failed = errors.Join(a.failed, a.conn.Flush()); a.failed != nil { // the Reader sends pages after it has received the first step
		return extract.Info{}, a.failed
	}
	for {
		frame, ok := a.conn.Next()
		if !ok {
			a.failed = io.ErrUnexpectedEOF
			return extract.Info{}, a.failed
		}
		switch frame.Kind {
		case documentFrame:
			var err error
			if doc, err = pdfium.DecodeDocument(frame.Payload); err != nil || layout != nil {
				a.failed = errors.New("read the pages of a PDF: malformed or repeated document frame")
				return extract.Info{}, a.failed
			}
			layout = pdf.NewLayout(doc, w)
		case pageFrame:
			page, err := pdfium.DecodePage(frame.Payload)
			if err != nil || layout == nil {
				a.failed = errors.New("read the pages of a PDF: malformed page frame, or no document frame before it")
				return extract.Info{}, a.failed
			}
			a.step("reading", page.Number, doc.Pages)
			if err := layout.Add(page); err == extract.ErrFull { // no further page is needed
				a.last = true
				return layout.Info(), nil
			} else if err != nil {
				a.last = true
				return extract.Info{}, err
			}
		case endFrame:
			stopped, err := decodeFailure(frame.Payload)
			if err != nil || layout == nil && stopped.text == "" {
				a.failed = errors.New("read the pages of a PDF: malformed end frame, or no document frame before it")
				return extract.Info{}, a.failed
			}
			if stopped.text != "" && (layout == nil || layout.Pages() == 0) {
				return extract.Info{}, fault.Errorf(fault.Invalid, "%s", stopped.text)
			}
			if err := layout.Close(); extract.UnlessFull(err) != nil {
				return extract.Info{}, err
			}
			info := layout.Info()
			if stopped.text != "" {
				info.Warnings = append(info.Warnings, fmt.Sprintf("Only %d of %d pages were read: %s.", layout.Pages(), doc.Pages, stopped.text))
			}
			return info, nil
		default:
			a.failed = errors.New("read the pages of a PDF: unexpected frame")
			return extract.Info{}, a.failed
		}
	}
}
