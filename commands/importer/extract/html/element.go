package html

import (
	"bytes"

	"golang.org/x/net/html/atom"
)

// leftOut are elements whose text is not part of what a page says.
var leftOut = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Iframe: true, atom.Object: true, atom.Svg: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
	atom.Nav: true, atom.Select: true, atom.Button: true, atom.Textarea: true, atom.Datalist: true, atom.Noembed: true, atom.Noframes: true, atom.Rp: true,
	atom.Annotation: true,
}

// paragraphs are elements that begin a paragraph.
var paragraphs = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Section: true, atom.Article: true, atom.Main: true, atom.Header: true, atom.Footer: true, atom.Aside: true, atom.Address: true,
	atom.Body: true, atom.Head: true, atom.Html: true, atom.Ul: true, atom.Ol: true, atom.Menu: true, atom.Li: true, atom.Dl: true, atom.Dt: true, atom.Dd: true,
	atom.Blockquote: true, atom.Pre: true, atom.Hr: true, atom.Figure: true, atom.Figcaption: true, atom.Details: true, atom.Summary: true, atom.Fieldset: true,
	atom.Legend: true, atom.Form: true, atom.Center: true, atom.Table: true, atom.Caption: true, atom.Thead: true, atom.Tbody: true, atom.Tfoot: true, atom.Tr: true, atom.Hgroup: true, atom.Dialog: true,
	atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
}

// void are elements without content.
var void = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true, atom.Input: true, atom.Link: true, atom.Meta: true,
	atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// atomOf returns the atom of an element's name, without a namespace prefix, or 0.
func atomOf(name []byte) atom.Atom {
	if i := bytes.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	return atom.Lookup(name)
}

// inlines are elements of text. With paragraphs, leftOut and void they are the elements of HTML.
var inlines = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.Acronym: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true, atom.Cite: true, atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true,
	atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Map: true, atom.Mark: true, atom.Meter: true, atom.Nobr: true, atom.Output: true,
	atom.Picture: true, atom.Progress: true, atom.Q: true, atom.Ruby: true, atom.S: true, atom.Samp: true, atom.Slot: true, atom.Small: true, atom.Span: true, atom.Strike: true, atom.Strong: true,
	atom.Sub: true, atom.Sup: true, atom.Td: true, atom.Th: true, atom.Time: true, atom.Title: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Colgroup: true, atom.Option: true, atom.Optgroup: true,
	atom.Math: true, atom.Param: true, atom.Search: true, atom.Noscript: true, atom.Rt: true,
}

// endOptional are elements that often have no end tag.
var endOptional = map[atom.Atom]bool{
	atom.P: true, atom.Li: true, atom.Dt: true, atom.Dd: true, atom.Tr: true, atom.Td: true, atom.Th: true,
}

// IsElement reports whether HTML has an element with this name, which is in lower case.
func IsElement(name string) bool {
	a := atom.Lookup([]byte(name))
	return inlines[a] || paragraphs[a] || leftOut[a] || void[a]
}

// IsBlock reports whether an element begins a paragraph.
func IsBlock(name string) bool { return paragraphs[atom.Lookup([]byte(name))] }

// EndIsOptional reports whether an element often has no end tag.
func EndIsOptional(name string) bool { return endOptional[atom.Lookup([]byte(name))] }
