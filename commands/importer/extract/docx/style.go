package docx

import (
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"

	"strconv"
	"strings"

	"annals/events/fault"
)

// paragraphStyle has the settings of a style, without those of its base style.
type paragraphStyle struct {
	name, basedOn string
	outline       int   // w:outlineLvl, from 0; -1 if not set
	numID, level  int   // -1 if not set
	hidden        *bool // nil if not set
}

// readStyles reads the part with the styles.
func (d *document) readStyles(part string) error {
	return d.pkg.Each(part, zipxml.SmallPart, "style", func(x *zipxml.Part, e *zipxml.Element) error {
		if len(d.styles) >= maxStyles {
			return fault.Errorf(fault.Invalid, "the Word document has more than %d styles: save it again as PDF, and upload that", maxStyles)
		}
		s := &paragraphStyle{outline: -1, numID: -1, level: -1}
		id := e.Attr("styleId")
		switch e.Attr("type") {
		case "", "paragraph":
		case "character":
			return x.Children(func(c *zipxml.Element) error {
				if c.Name != "w:rPr" || len(d.hidden) >= maxStyles {
					return x.Skip()
				}
				hidden, err := hides(x)
				if hidden != nil {
					d.hidden[id] = *hidden
				}
				return err
			})
		default:
			return x.Skip()
		}
		d.styles[id] = s
		if e.Attr("default") == "1" || e.Attr("default") == "true" {
			d.defaultStyle = id
		}
		return x.Children(func(c *zipxml.Element) error {
			switch c.Name {
			case "w:name":
				s.name = strings.ToLower(c.Attr("val"))
			case "w:basedOn":
				s.basedOn = c.Attr("val")
			case "w:rPr":
				var err error
				s.hidden, err = hides(x)
				return err
			case "w:pPr":
				return x.Children(func(p *zipxml.Element) error {
					switch p.Name {
					case "w:outlineLvl":
						s.outline = atoi(p.Attr("val"), -1)
					case "w:numPr":
						return readNumPr(x, &s.numID, &s.level)
					}
					return x.Skip()
				})
			}
			return x.Skip()
		})
	})
}

// hides reports whether the open w:rPr hides text. It returns nil if it does not say.
func hides(x *zipxml.Part) (hidden *bool, err error) {
	err = x.Children(func(p *zipxml.Element) error {
		if p.Name == "w:vanish" {
			hidden = new(on(p))
		}
		return x.Skip()
	})
	return hidden, err
}

// hiddenStyle reports whether paragraphs with a style are hidden, unless their runs are not.
func (d *document) hiddenStyle(id string) (hidden bool) {
	d.chain(id, func(s *paragraphStyle) bool {
		hidden = s.hidden != nil && *s.hidden
		return s.hidden == nil
	})
	return hidden
}

func readNumPr(x *zipxml.Part, numID, level *int) error {
	return x.Children(func(c *zipxml.Element) error {
		switch c.Name {
		case "w:numId":
			*numID = atoi(c.Attr("val"), 0)
		case "w:ilvl":
			*level = min(max(atoi(c.Attr("val"), 0), 0), 8)
		}
		return x.Skip()
	})
}

func atoi(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}

// chain calls visit with a style and its base styles until visit returns false.
func (d *document) chain(id string, visit func(*paragraphStyle) bool) {
	for range 16 {
		s := d.styles[id]
		if s == nil {
			if s = (&paragraphStyle{name: strings.ToLower(id), outline: -1, numID: -1, level: -1}); id == "" {
				return
			}
		}
		if !visit(s) {
			return
		}
		id = s.basedOn
	}
}

// headingLevel returns the level of headings with this style, from 1, or 0 if it is not a heading
// style.
func (d *document) headingLevel(id string) int {
	level := 0
	d.chain(id, func(s *paragraphStyle) bool {
		if s.name == "toc heading" { // it is not in Word's outline, but starts a section
			level = 1
			return false
		}
		if s.outline >= 0 && s.outline <= 9 {
			level = (s.outline + 1) % 10
			return false
		}
		if besideTitle[s.name] {
			return false
		}
		level = headingName(s.name)
		return level == 0
	})
	return level
}

// headingNames are Word's names of heading styles, without the number.
var headingNames = map[string]bool{
	"heading": true, "überschrift": true, "berschrift": true, "titre": true, "título": true, "ttulo": true, "titolo": true, "kop": true, "rubrik": true,
	"overskrift": true, "otsikko": true, "nagłówek": true, "nagwek": true, "nadpis": true, "заголовок": true, "başlık": true, "balk": true,
	"encabezado": true, "cabeçalho": true, "címsor": true, "cmsor": true, "titlu": true, "επικεφαλίδα": true, "標題": true, "标题": true, "見出し": true, "제목": true,
}

// besideTitle are the names of styles that are often based on that of the title, but are for text beside it.
var besideTitle = map[string]bool{
	"subtitle": true, "untertitel": true, "sous-titre": true, "subtítulo": true, "sottotitolo": true, "ondertitel": true, "podtytuł": true, "podtitul": true, "подзаголовок": true,
	"author": true, "date": true, "abstract": true,
}

// titleNames are Word's names of the style for a document's title.
var titleNames = map[string]bool{
	"title": true, "titel": true, "titre": true, "título": true, "ttulo": true, "titolo": true, "tytuł": true, "otsikko": true, "rubrik": true,
	"название": true, "标题": true, "標題": true, "表題": true, "제목": true,
}

// headingName returns the level in a lower-case style name such as "heading 2" or "überschrift2".
// It returns 1 for titles, and 0 for other styles.
func headingName(name string) int {
	if titleNames[name] {
		return 1
	}
	bare := strings.TrimRight(name, "0123456789")
	level := atoi(name[len(bare):], 0)
	if level >= 1 && level <= 9 && headingNames[strings.TrimSpace(bare)] {
		return level
	}
	return 0
}

// styleKind returns whether the name of a style says that it is for code or quotations.
func (d *document) styleKind(id string) blocks.Kind {
	k := blocks.Plain
	d.chain(id, func(s *paragraphStyle) bool {
		switch s.name {
		case "source code", "sourcecode", "code", "html preformatted", "preformatted text", "macro text", "code block", "codeblock", "verbatim":
			k = blocks.Code
		case "quote", "intense quote", "block text", "blockquote", "quotations", "block quotation", "zitat", "citation", "intensequote":
			k = blocks.Quote
		}
		return k == blocks.Plain
	})
	return k
}

// styleNumbering returns the list and level of paragraphs with a style.
func (d *document) styleNumbering(id string) (numID, level int) {
	numID, level = -1, -1
	d.chain(id, func(s *paragraphStyle) bool {
		if numID < 0 {
			numID = s.numID
		}
		if level < 0 {
			level = s.level
		}
		return numID < 0 || level < 0
	})
	return numID, level
}

// on reports whether a switch such as <w:vanish/> is on.
func on(e *zipxml.Element) bool {
	switch e.Attr("val") {
	case "0", "false", "off":
		return false
	}
	return true
}
