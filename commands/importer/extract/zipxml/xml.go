package zipxml

import (
	"bufio"
	"encoding/xml"
	"io"
	"strings"

	"annals/events/fault"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Element is the start of an XML element.
type Element struct {
	Name  string // with the usual prefix of its namespace, such as "w:p"
	Local string
	attrs []xml.Attr
}

// Attr returns the attribute with a local name, in any namespace.
func (e *Element) Attr(local string) string {
	for _, a := range e.attrs {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// Relation returns the attribute with a local name in the namespace of relations between parts.
func (e *Element) Relation(local string) string {
	for _, a := range e.attrs {
		if a.Name.Local == local && namespaces[a.Name.Space] == "r" {
			return a.Value
		}
	}
	return ""
}

// Part reads the XML of a part. The open element is the one that was begun last and has not
// ended yet. Part limits the depth of the elements and the size of tokens. A function that is
// called with an element must consume the element by a call of Children, Text or Skip.
type Part struct {
	p      *Package
	r      io.Closer
	dtd    bool // the part has a document type definition
	d      *xml.Decoder
	source *tokenSource
	name   string
	depth  int
	count  int
	names  map[xml.Name]string
}

// Part opens a part as XML, with a limit of uncompressed bytes. It returns nil if there is no such
// part.
func (p *Package) Part(name string, limit int64) (*Part, error) {
	r, err := p.Read(name, limit)
	if r == nil || err != nil {
		return nil, err
	}
	source := &tokenSource{r: bufio.NewReaderSize(withoutMark(r), 32<<10), p: p, name: name}
	x := &Part{p: p, r: r, d: xml.NewDecoder(source), source: source, name: name, names: map[xml.Name]string{}}
	x.d.CharsetReader = charsetReader
	return x, nil
}

// Close ends reading.
func (x *Part) Close() error { return x.r.Close() }

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
	p    *Package
	name string // name of the part
	read int
}

func (s *tokenSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.read += n; s.read > MaxToken {
		return 0, s.tooLong()
	}
	return n, err
}

func (s *tokenSource) ReadByte() (byte, error) {
	if s.read++; s.read > MaxToken {
		return 0, s.tooLong()
	}
	return s.r.ReadByte()
}

func (s *tokenSource) tooLong() error { return s.p.tooMuchText(s.name) }

func (p *Package) tooMuchText(part string) error {
	return fault.Errorf(fault.Invalid, "the %s is damaged: it has more than %d MiB without an XML tag (part %s): save it again as PDF, and upload that", p.kind, MaxToken>>20, part)
}

// Next returns the next token. The error is io.EOF only at the end of the part.
func (x *Part) Next() (xml.Token, error) {
	if x.count++; x.count&255 == 0 {
		if err := x.p.ctx.Err(); err != nil {
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
	if limit := x.p.limits.Nesting; x.depth > limit {
		return nil, fault.Errorf(fault.Invalid, "the %s has XML elements nested more than %d deep (--max-nesting, part %s): save it again as PDF, and upload that", x.p.kind, limit, x.name)
	}
	if err == nil || err == io.EOF {
		return t, err
	}
	if fault.Is(err, fault.Invalid) {
		return nil, err
	}
	if ended := x.p.ctx.Err(); ended != nil {
		return nil, ended
	}
	if x.dtd {
		return nil, fault.Errorf(fault.Invalid, "the %s contains a document type definition (part %s), which is not allowed: save it again with Word or LibreOffice", x.p.kind, x.name)
	}
	return nil, x.p.Damaged(x.name)
}

// Element returns the element that a token starts.
func (x *Part) Element(t xml.StartElement) *Element {
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
	return &Element{Name: name, Local: t.Name.Local, attrs: t.Attr}
}

// Children calls visit with each child of the open element.
func (x *Part) Children(visit func(*Element) error) error {
	for {
		t, err := x.Next()
		if err == io.EOF {
			return x.p.Damaged(x.name)
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := visit(x.Element(t)); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// Mixed calls text with each text of the open element, and visit with each child.
func (x *Part) Mixed(text func(string) error, visit func(*Element) error) error {
	for {
		t, err := x.Next()
		if err == io.EOF {
			return x.p.Damaged(x.name)
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.CharData:
			err = text(string(t))
		case xml.StartElement:
			err = visit(x.Element(t))
		case xml.EndElement:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Skip reads to the end of the open element.
func (x *Part) Skip() error {
	for depth := x.depth; x.depth >= depth; {
		if _, err := x.Next(); err == io.EOF {
			return x.p.Damaged(x.name)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Text returns the text of the open element, without that of its children.
func (x *Part) Text() (string, error) {
	depth := x.depth
	var one string
	var more []byte
	for {
		t, err := x.Next()
		if err == io.EOF {
			return "", x.p.Damaged(x.name)
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
			if len(more) > MaxToken {
				return "", x.p.tooMuchText(x.name)
			}
		case xml.EndElement:
			if x.depth < depth {
				return one + string(more), nil
			}
		}
	}
}

// Each calls visit with each outermost element of a part that has this local name; visit must
// consume the element. It does nothing if there is no such part. limit is the maximum size of the
// uncompressed part.
func (p *Package) Each(part string, limit int64, local string, visit func(*Part, *Element) error) error {
	x, err := p.Part(part, limit)
	if x == nil || err != nil {
		return err
	}
	defer x.Close()
	for {
		t, err := x.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if start, ok := t.(xml.StartElement); ok && start.Name.Local == local {
			if err := visit(x, x.Element(start)); err != nil {
				return err
			}
		}
	}
}

// Root calls visit with the root element of the part.
func (x *Part) Root(visit func(*Element) error) error {
	for {
		t, err := x.Next()
		if err == io.EOF {
			return x.p.Damaged(x.name)
		}
		if err != nil {
			return err
		}
		if start, ok := t.(xml.StartElement); ok {
			return visit(x.Element(start))
		}
	}
}
