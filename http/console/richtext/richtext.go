// Package richtext makes safe HTML of the Markdown in documents and answers, with marks. No
// tag, picture, script or address of a document comes through, except links to web pages.
//
// It imports no other package of this module.
package richtext

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxText is the maximum length in bytes of a text that is rendered as Markdown. Longer ones
// are shown as plain text.
const MaxText = 4 << 20

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(cautious{}, 100))),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(html.NewRenderer(), 1000))),
)

// HTML returns a text as HTML. The parts of it that have the same words as a text in marks
// are marked.
func HTML(source string, marks []string) template.HTML {
	if len(source) > MaxText {
		return template.HTML("<pre>" + template.HTMLEscapeString(source) + "</pre>")
	}
	var out bytes.Buffer
	if err := markdown.Convert([]byte(source), &out); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(source) + "</pre>")
	}
	return template.HTML(mark(out.String(), marks)) // goldmark escapes text, and omits HTML
}

// cautious changes a document so that nothing in it loads or runs anything: pictures become
// their descriptions, tags become text, and links to other things than web pages lose their
// addresses. Headings become smaller, because the page has headings of its own.
type cautious struct{}

func (cautious) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var images []*ast.Image
	var links []ast.Node
	var raw []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+2, 6)
			n.RemoveAttributes()
		case *ast.Image:
			images = append(images, n)
		case *ast.Link:
			if web(string(n.Destination)) {
				n.SetAttributeString("rel", []byte("noreferrer noopener nofollow"))
				n.SetAttributeString("target", []byte("_blank"))
				n.Title = nil
			} else {
				links = append(links, n)
			}
		case *ast.AutoLink:
			n.SetAttributeString("rel", []byte("noreferrer noopener nofollow"))
			if n.AutoLinkType == ast.AutoLinkEmail || !web(string(n.URL(reader.Source()))) {
				links = append(links, n)
			}
		case *ast.RawHTML, *ast.HTMLBlock:
			raw = append(raw, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range images {
		unwrap(n)
	}
	for _, n := range links {
		if auto, ok := n.(*ast.AutoLink); ok {
			n.Parent().ReplaceChild(n.Parent(), n, ast.NewString(auto.Label(reader.Source())))
			continue
		}
		unwrap(n)
	}
	for _, n := range raw {
		asText(n, reader.Source())
	}
}

// asText replaces a tag or a block of HTML by its source, which is then shown as text.
func asText(n ast.Node, source []byte) {
	var plain bytes.Buffer
	switch n := n.(type) {
	case *ast.RawHTML:
		plain.Write(n.Segments.Value(source))
		n.Parent().ReplaceChild(n.Parent(), n, ast.NewString(plain.Bytes()))
	case *ast.HTMLBlock:
		plain.Write(n.Lines().Value(source))
		if n.HasClosure() {
			plain.Write(n.ClosureLine.Value(source))
		}
		p := ast.NewParagraph()
		p.AppendChild(p, ast.NewString(plain.Bytes()))
		n.Parent().ReplaceChild(n.Parent(), n, p)
	}
}

// unwrap replaces a node by its children.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; {
		next := child.NextSibling()
		parent.InsertBefore(parent, n, child)
		child = next
	}
	parent.RemoveChild(parent, n)
}

// web reports whether an address is that of a web page.
func web(address string) bool {
	u, err := url.Parse(strings.TrimSpace(address))
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}
