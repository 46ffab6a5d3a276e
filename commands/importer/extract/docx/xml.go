package docx

import (
	"bufio"
	"context"
	"encoding/xml"
	"io"
	"strings"

	"annals/events/fault"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// namespaces has the usual prefix of each namespace that this package reads, in the transitional
// and the strict variant.
var namespaces = map[string]string{
	"http://schemas.openxmlformats.org/wordprocessingml/2006/main":           "w",
	"http://purl.oclc.org/ooxml/wordprocessingml/main":                       "w",
	"http://schemas.openxmlformats.org/officeDocument/2006/math":             "m",
	"http://purl.oclc.org/ooxml/officeDocument/math":                         "m",
	"http://schemas.openxmlformats.org/drawingml/2006/main":                  "a",
	"http://purl.oclc.org/ooxml/drawingml/main":                              "a",
	"http://schemas.openxmlformats.org/drawingml/2006/chart":                 "c",
	"http://purl.oclc.org/ooxml/drawingml/chart":                             "c",
	"http://schemas.openxmlformats.org/drawingml/2006/diagram":               "dgm",
	"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing": "wp",
	"http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing":             "wp",
	"http://purl.oclc.org/ooxml/drawingml/diagram":                           "dgm",
	"http://schemas.openxmlformats.org/markup-compatibility/2006":            "mc",
	"http://purl.org/dc/elements/1.1/":                                       "dc",
	"http://schemas.openxmlformats.org/package/2006/relationships":           "rel",
	"http://schemas.microsoft.com/office/word/2003/wordml":                   "w",
	"http://schemas.microsoft.com/office/word/2010/wordml":                   "w14",
}

// element is the start of an XML element.
type element struct {
	name  string // with the usual prefix of its namespace, such as "w:p"
	local string
	attrs []xml.Attr
}

// attr returns the attribute with a local name, in any namespace.
func (e *element) attr(local string) string {
	for _, a := range e.attrs {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// on reports whether a switch such as <w:vanish/> is on.
func (e *element) on() bool {
	switch e.attr("val") {
	case "0", "false", "off":
		return false
	}
	return true
}

// xmlPart reads the XML of a part. The open element is the one that was begun last and has not
// ended yet. xmlPart limits the depth of the elements and the size of tokens. A function that is
// called with an element must consume the element by a call of children, text or skip.
type xmlPart struct {
	dtd    bool // the part has a document type definition
	ctx    context.Context
	d      *xml.Decoder
	source *tokenSource
	name   string
	depth  int
	count  int
	names  map[xml.Name]string
}

// part opens a part as XML. It returns nil if there is no such part.
func (d *document) part(name string, limit int64) (*xmlPart, io.Closer, error) {
	r, err := d.pkg.open(name, limit)
	if r == nil || err != nil {
		return nil, nil, err
	}
	source := &tokenSource{r: bufio.NewReaderSize(withoutMark(r), 32<<10), name: name}
	x := &xmlPart{ctx: d.ctx, d: xml.NewDecoder(source), source: source, name: name, names: map[xml.Name]string{}}
	x.d.CharsetReader = charsetReader
	return x, r, nil
}

// withoutMark decodes XML that starts with a byte order mark, and drops the mark.
func withoutMark(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.BOMOverride(transform.Nop))
}

func charsetReader(label string, r io.Reader) (io.Reader, error) {
	if strings.HasPrefix(strings.ToLower(label), "utf-16") || strings.HasPrefix(strings.ToLower(label), "ucs-2") {
		return r, nil // withoutMark has decoded the text already
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil, err
	}
	return transform.NewReader(r, enc.NewDecoder()), nil
}

// tokenSource limits the bytes of a token, because the XML decoder keeps each token in memory.
type tokenSource struct {
	r    *bufio.Reader
	name string // name of the part
	read int
}

func (s *tokenSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.read += n; s.read > maxTokenBytes {
		return 0, s.tooLong()
	}
	return n, err
}

func (s *tokenSource) ReadByte() (byte, error) {
	if s.read++; s.read > maxTokenBytes {
		return 0, s.tooLong()
	}
	return s.r.ReadByte()
}

func (s *tokenSource) tooLong() error { return tooMuchText(s.name) }

func tooMuchText(part string) error {
	return fault.Errorf(fault.Invalid, "the Word document is damaged: it has more than %d MiB without an XML tag (part %s): save it again as PDF, and upload that", maxTokenBytes>>20, part)
}

// next returns the next token. The error is io.EOF only at the end of the part.
func (x *xmlPart) next() (xml.Token, error) {
	if x.count++; x.count&255 == 0 {
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
	}
	x.source.read = 0
	t, err := x.d.Token()
	switch t.(type) {
	case xml.StartElement:
		x.depth++
	case xml.EndElement:
		x.depth--
	case xml.Directive:
		x.dtd = true
	}
	if x.depth > maxXMLDepth {
		return nil, fault.Errorf(fault.Invalid, "the Word document has XML elements nested more than %d deep (part %s): save it again as PDF, and upload that", maxXMLDepth, x.name)
	}
	if err == nil || err == io.EOF {
		return t, err
	}
	if fault.Is(err, fault.Invalid) {
		return nil, err
	}
	if x.dtd {
		return nil, fault.Errorf(fault.Invalid, "the Word document contains a document type definition (part %s), which is not allowed: save it again with Word or LibreOffice", x.name)
	}
	return nil, damaged(x.name)
}

func (x *xmlPart) element(t xml.StartElement) *element {
	name, ok := x.names[t.Name]
	if !ok {
		prefix, known := namespaces[t.Name.Space]
		if !known {
			prefix = t.Name.Space
		}
		name = prefix + ":" + t.Name.Local
		if len(x.names) < 4096 {
			x.names[t.Name] = name
		}
	}
	return &element{name: name, local: t.Name.Local, attrs: t.Attr}
}

// children calls visit with each child of the open element.
func (x *xmlPart) children(visit func(*element) error) error {
	for {
		t, err := x.next()
		if err == io.EOF {
			return damaged(x.name)
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := visit(x.element(t)); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip reads to the end of the open element.
func (x *xmlPart) skip() error {
	for depth := x.depth; x.depth >= depth; {
		if _, err := x.next(); err == io.EOF {
			return damaged(x.name)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of the open element, without that of its children.
func (x *xmlPart) text() (string, error) {
	depth := x.depth
	var one string
	var more []byte
	for {
		t, err := x.next()
		if err == io.EOF {
			return "", damaged(x.name)
		}
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			if x.depth != depth {
				continue
			}
			if one == "" && more == nil {
				one = string(t)
			} else {
				more = append(more, t...)
			}
			if len(more) > maxTokenBytes {
				return "", tooMuchText(x.name)
			}
		case xml.EndElement:
			if x.depth < depth {
				return one + string(more), nil
			}
		}
	}
}

// eachElement calls visit with each outermost element of a part that has this local name;
// visit must consume the element. It does nothing if there is no such part. limit is the
// maximum size of the uncompressed part.
func (d *document) eachElement(part string, limit int64, local string, visit func(*xmlPart, *element) error) error {
	x, closer, err := d.part(part, limit)
	if x == nil || err != nil {
		return err
	}
	defer closer.Close()
	for {
		t, err := x.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if start, ok := t.(xml.StartElement); ok && start.Name.Local == local {
			if err := visit(x, x.element(start)); err != nil {
				return err
			}
		}
	}
}
