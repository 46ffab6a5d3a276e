package extract

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"annals/commands/importer/extract/pdfium"
	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// Main is what a process started by Options.Command runs; args are those that
// follow the command. It reads files for the Reader that started it, until that
// closes the connection between them.
func Main(args []string) error {
	if len(args) == 0 {
		return errors.New("name the kind of files to read: pdf or text")
	}
	flags := flag.NewFlagSet("reader", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	memory := flags.Int64("memory", 0, "bytes of memory")
	cache := flags.String("cache", "", "folder of compiled code")
	compile := flags.Bool("compile", false, "compile, and end")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == kindPDF && *compile:
		return pdfium.Compile(*cache)
	case args[0] == kindPDF:
		return pdfium.Serve(*memory, *cache)
	case args[0] == kindText:
		return process.Serve(*memory, func() (int64, error) { return 0, nil }, answer)
	}
	return fmt.Errorf("nothing reads %q", args[0])
}

// The kinds of processes: one for the pages of PDFs, and one for all else, what
// becomes of those pages included.
const (
	kindPDF  = "pdf"
	kindText = "text"
)

// answer reads one file. An error ends the process.
func answer(conn *process.Server, f process.Frame) error {
	req, err := decodeRequest(f.Payload)
	if f.Kind != requestFrame || err != nil {
		return errors.New("unexpected frame: want a request")
	}
	file, err := conn.File(req.path)
	if err != nil {
		return err
	}
	defer file.Close()
	a := &answering{conn: conn, sent: time.Now()}
	// The server bounds the time.
	limits := Limits{Pages: req.pages, TextBytes: req.textBytes, Time: 1 << 62}
	r := &reader{limits: limits, formats: formats(a.pdf)}
	info, err := r.readFile(context.Background(), file, req.name, a.emit, a.step)
	if a.failed != nil {
		return a.failed
	}
	if err != nil {
		text := err.Error()
		f := failure{text: strings.ToValidUTF8(text[:min(len(text), maxWarning)], ""), file: fault.Is(err, fault.Invalid), last: a.last}
		err = conn.Send(failedFrame, f.encode(), nil)
	} else {
		err = conn.Send(doneFrame, info.encode(a.last), nil)
	}
	if err == nil && a.last {
		err = errors.New("pages of an abandoned file are still coming")
	}
	return err
}

// answering is the answer to one request.
type answering struct {
	conn   *process.Server
	enc    process.Encoder
	sent   time.Time // the last that went out at once
	failed error     // of sending
	last   bool      // the process ends after it, since pages of its file are still coming
}

// emit sends a part of a section, at once if none went out for a while.
func (a *answering) emit(s Section) error {
	a.enc.B = a.enc.B[:0]
	encodeSection(&a.enc, s)
	a.send(sectionFrame)
	return a.failed
}

func (a *answering) send(k process.Kind) {
	a.failed = errors.Join(a.failed, a.conn.Write(k, a.enc.B))
	if now := time.Now(); now.Sub(a.sent) > time.Second/10 {
		a.failed = errors.Join(a.failed, a.conn.Flush())
		a.sent = now
	}
}

func (a *answering) step(step string, page, pages int) {
	a.enc.B = a.enc.B[:0]
	a.enc.Text(step)
	a.enc.Int(page)
	a.enc.Int(pages)
	a.send(stepFrame)
}

// pdf lays out the pages that follow the request. If the reading of the file
// stopped in the middle, its pages are kept, with a warning.
func (a *answering) pdf(_ context.Context, f *file, w *sectionWriter) (Info, error) {
	w.budget.later = func() int64 { return Allowance(f.size) / 2 } // how much text comes is not known
	var doc pdfium.Document
	var layout *pdfLayout
	if a.failed = errors.Join(a.failed, a.conn.Flush()); a.failed != nil { // which asks for the pages
		return Info{}, a.failed
	}
	for {
		frame, ok := a.conn.Next()
		if !ok {
			a.failed = io.ErrUnexpectedEOF
			return Info{}, a.failed
		}
		switch frame.Kind {
		case documentFrame:
			var err error
			if doc, err = pdfium.DecodeDocument(frame.Payload); err != nil || layout != nil {
				a.failed = errors.New("malformed or repeated document frame")
				return Info{}, a.failed
			}
			layout = newPDFLayout(doc, w)
		case pageFrame:
			page, err := pdfium.DecodePage(frame.Payload)
			if err != nil || layout == nil {
				a.failed = errors.New("malformed page frame, or one before the document")
				return Info{}, a.failed
			}
			a.step("reading", page.Number, doc.Pages)
			if err := layout.add(page); err == errFull { // more pages are of no use
				a.last = true
				return Info{Pages: doc.Pages, Title: layout.title, Warnings: layout.warnings()}, nil
			} else if err != nil {
				a.last = true
				return Info{}, err
			}
		case endFrame:
			stopped, err := decodeFailure(frame.Payload)
			if err != nil || layout == nil && stopped.text == "" {
				a.failed = errors.New("malformed end frame, or one before the document")
				return Info{}, a.failed
			}
			if stopped.text != "" && (layout == nil || layout.pages == 0) {
				return Info{}, fault.Errorf(fault.Invalid, "%s", stopped.text)
			}
			if err := layout.close(); unlessFull(err) != nil {
				return Info{}, err
			}
			info := Info{Pages: doc.Pages, Title: layout.title, Warnings: layout.warnings()}
			if stopped.text != "" {
				info.Warnings = append(info.Warnings, fmt.Sprintf("Only %d of %d pages were read: %s.", layout.pages, doc.Pages, stopped.text))
			}
			return info, nil
		default:
			a.failed = errors.New("unexpected frame between pages")
			return Info{}, a.failed
		}
	}
}
