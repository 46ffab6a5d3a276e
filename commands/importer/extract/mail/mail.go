// Package mail reads messages as mail programs save them (.eml). It imports extract,
// extract/charset, extract/html and events/fault.
package mail

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/charset"
	"annals/commands/importer/extract/html"
	"annals/events/fault"
)

const (
	maxHeader = 1 << 20  // bytes of the header of a message
	maxText   = 16 << 20 // bytes of a text of a message; the rest is left out
	maxDepth  = 20       // nesting of messages and of their parts
	maxParts  = 5_000    // parts of a message, including those of messages in it
	maxNames  = 500      // attachments that are named
)

// message reads a message and the messages in it.
type message struct {
	ctx      context.Context
	w        *extract.Writer
	parts    int      // parts read so far
	depth    int      // open parts around the current one
	names    []string // of attachments
	warnings []string
}

// Read reads a message: its subject, senders, recipients, date, text and the names of its
// attachments. Of several forms of a text it reads the last that it can, which is HTML if there is
// one. Attachments are not read, except messages.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	m := message{ctx: ctx, w: w}
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size), 64<<10)
	if first, _ := in.Peek(5); string(first) == "From " { // as mailboxes have it before each message
		if _, err := in.ReadSlice('\n'); err != nil {
			return extract.Info{}, errNoMessage
		}
	}
	title, err := m.read(in, 1)
	return extract.Info{Title: title, Warnings: m.warnings}, err
}

var errNoMessage = fault.Errorf(fault.Invalid, "the file is not a message, or is damaged: its header cannot be read: save it again, and upload the new file")

// read reads a message whose subject is a title of a level, and returns the subject.
func (m *message) read(in *bufio.Reader, level int) (subject string, err error) {
	limited := &io.LimitedReader{R: in, N: maxHeader}
	parsed, err := mail.ReadMessage(limited)
	if limited.N == 0 {
		return "", fault.Errorf(fault.Invalid, "the header of the message is longer than %d KiB: save its text, and upload that", maxHeader>>10)
	}
	if err != nil || len(parsed.Header) == 0 {
		return "", errNoMessage
	}
	limited.N = 1 << 62
	h := textproto.MIMEHeader(parsed.Header)
	subject = extract.CleanTitle(decoded(h.Get("Subject")))
	if err := m.w.Begin(level, subject); err != nil {
		return "", err
	}
	var list strings.Builder
	for _, name := range []string{"From", "To", "Cc", "Date"} {
		if value := strings.Join(strings.Fields(decoded(h.Get(name))), " "); value != "" {
			if at, err := mail.ParseDate(value); err == nil {
				value = at.Format(time.RFC1123Z)
			}
			fmt.Fprintf(&list, "- %s: %s\n", name, value)
		}
	}
	if err := m.w.Write(strings.TrimSpace(list.String())); err != nil {
		return "", err
	}
	before := m.names
	m.names = nil
	if _, err := m.part(h, parsed.Body, level); err != nil {
		return "", err
	}
	if len(m.names) > 0 {
		err = m.w.Write("\n\nAttachments: " + strings.Join(m.names, ", "))
	}
	m.names = before
	return subject, err
}

var words = mime.WordDecoder{CharsetReader: func(label string, in io.Reader) (io.Reader, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxHeader))
	return strings.NewReader(charset.Text(b, label)), err
}}

// decoded returns the text of a field of a header.
func decoded(value string) string {
	text, err := words.DecodeHeader(value)
	if err != nil {
		text = value
	}
	return charset.Text([]byte(text), "")
}

// part reads a part of a message, and reports whether it has a text.
func (m *message) part(h textproto.MIMEHeader, body io.Reader, level int) (text bool, err error) {
	m.depth++
	defer func() { m.depth-- }()
	if m.parts++; m.parts > maxParts || m.depth > maxDepth {
		return false, fault.Errorf(fault.Invalid, "the message has more than %d parts, or parts nested more than %d deep: save its attachments, and upload them", maxParts, maxDepth)
	}
	if err := m.ctx.Err(); err != nil {
		return false, err
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	body = encodedBy(h.Get("Content-Transfer-Encoding"), body)
	disposition, more, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := decoded(more["filename"])
	if name == "" {
		name = decoded(params["name"])
	}
	switch {
	case strings.HasPrefix(kind, "multipart/") && params["boundary"] != "":
		return m.multipart(kind, multipart.NewReader(body, params["boundary"]), level)
	case kind == "message/rfc822":
		_, err := m.read(bufio.NewReader(body), level+1)
		if errors.Is(err, errNoMessage) {
			m.attachment(name)
			err = nil
		}
		return true, err
	case disposition == "attachment", !strings.HasPrefix(kind, "text/"), kind != "text/plain" && kind != "text/html" && name != "":
		switch {
		case kind == "application/pkcs7-mime", kind == "application/x-pkcs7-mime", kind == "application/pgp-encrypted":
			m.warn("The message is encrypted, and its text was not read.")
		case disposition != "attachment" && strings.HasPrefix(kind, "image/"), kind == "application/pgp-signature", strings.HasSuffix(kind, "pkcs7-signature"): // decoration
		default:
			m.attachment(name)
		}
		return false, nil
	}
	return m.text(kind, params, body)
}

func (m *message) attachment(name string) {
	name = extract.CleanTitle(name)
	if name != "" && len(m.names) < maxNames {
		m.names = append(m.names, name)
	}
}

func (m *message) warn(text string) {
	for _, w := range m.warnings {
		if w == text {
			return
		}
	}
	m.warnings = append(m.warnings, text)
}

// multipart reads the parts of a part. Of alternatives it reads the last that has a text; plain
// text, which comes first, is kept until then.
func (m *message) multipart(kind string, parts *multipart.Reader, level int) (text bool, err error) {
	alternatives := kind == "multipart/alternative"
	var plain []byte
	var plainOf map[string]string
	for {
		p, err := parts.NextRawPart()
		if err != nil {
			if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
				m.warn("The message is damaged, and its end is missing.")
			}
			break
		}
		of, params, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if alternatives && (of == "" || of == "text/plain") && plain == nil {
			if plain, err = m.content(encodedBy(p.Header.Get("Content-Transfer-Encoding"), p)); err != nil {
				return false, err
			}
			plainOf = params
			continue
		}
		if alternatives && text {
			continue
		}
		found, err := m.part(p.Header, p, level)
		if err != nil {
			return false, err
		}
		text = text || found
	}
	if !text && len(plain) > 0 {
		return m.text("text/plain", plainOf, bytes.NewReader(plain))
	}
	return text, nil
}

// content returns the bytes of a text. A damaged encoding ends it.
func (m *message) content(body io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(body, maxText+1))
	if err != nil {
		if m.ctx.Err() != nil {
			return nil, m.ctx.Err()
		}
		m.warn("The message is damaged, and a part of its text is missing.")
	}
	if len(b) > maxText {
		m.warn(fmt.Sprintf("The message has a text of more than %d MiB, the rest of which was not read.", maxText>>20))
		b = b[:maxText]
	}
	return b, nil
}

// text writes a text, and reports whether it has words.
func (m *message) text(kind string, params map[string]string, body io.Reader) (bool, error) {
	b, err := m.content(body)
	if err != nil {
		return false, err
	}
	s := charset.Text(b, params["charset"])
	if strings.TrimSpace(s) == "" {
		return false, nil
	}
	out := &counted{w: m.w}
	switch kind {
	case "text/html":
		if _, err := html.Convert(m.ctx, strings.NewReader(s), out); err != nil {
			return false, err
		}
	default:
		if strings.EqualFold(params["format"], "flowed") {
			s = unflowed(s, strings.EqualFold(params["delsp"], "yes"))
		}
		if err := out.Write(strings.Trim(s, "\r\n")); err != nil {
			return false, err
		}
	}
	return out.n > 0, nil
}

// counted writes the text of a message. Headings in it are text, because a message is one section.
type counted struct {
	w *extract.Writer
	n int
}

func (c *counted) Begin(level int, title string) error {
	return c.Write("\n\n" + strings.Repeat("#", min(level, 6)) + " " + title + "\n\n")
}

func (c *counted) Write(text string) error {
	if c.n == 0 { // a blank line separates the text from what is before it
		text = "\n\n" + strings.TrimLeft(text, "\n")
	}
	c.n += len(strings.TrimSpace(text))
	return c.w.Write(text)
}

// unflowed joins the lines of a paragraph, each of which ends in a space (RFC 3676).
func unflowed(text string, joined bool) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(body, " ") || body == "-- " || strings.HasPrefix(body, ">") {
			out.WriteString(line)
			continue
		}
		if joined {
			body = strings.TrimSuffix(body, " ")
		}
		out.WriteString(body)
	}
	return out.String()
}

// encodedBy decodes the transfer encoding of a body.
func encodedBy(encoding string, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &base64Letters{r: body})
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	}
	return body
}

// base64Letters leaves out what does not belong to base64, such as spaces.
type base64Letters struct{ r io.Reader }

func (l *base64Letters) Read(p []byte) (int, error) {
	for {
		n, err := l.r.Read(p)
		kept := 0
		for _, c := range p[:n] {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' {
				p[kept] = c
				kept++
			}
		}
		if kept > 0 || err != nil || n == 0 && len(p) == 0 {
			return kept, err
		}
	}
}
