// Package epub reads electronic books: the chapters in the order of the book. It imports extract,
// extract/html, extract/zipxml and events/fault.
package epub

import (
	"context"
	"io"
	"net/url"
	"path"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/html"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

const (
	maxChapter  = 64 << 20 // uncompressed bytes of a chapter
	maxChapters = 10_000
	maxItems    = 20_000 // files of a book, and entries of its table of contents
)

// book is a book that is being read.
type book struct {
	pkg      *zipxml.Package
	w        *extract.Writer
	title    string
	authors  []string
	files    map[string]item   // by id
	spine    []string          // ids of the chapters in their order, each once
	tables   []string          // files with a table of contents
	contents map[string]string // titles of chapters, by file
}

type item struct{ name, kind, properties string }

// Read reads a book. A chapter without a heading gets its title in the table of contents. Books
// that are protected against copying are refused.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	pkg, err := zipxml.Open(ctx, f, "EPUB book")
	if err != nil {
		return extract.Info{}, err
	}
	w.LimitBy(pkg.XML)
	b := book{pkg: pkg, w: w, files: map[string]item{}, contents: map[string]string{}}
	main := ""
	err = pkg.Each("meta-inf/container.xml", zipxml.SmallPart, "rootfile", func(x *zipxml.Part, e *zipxml.Element) error {
		if main == "" {
			main = zipxml.Name("", e.Attr("full-path"))
		}
		return x.Skip()
	})
	if err != nil {
		return extract.Info{}, err
	}
	if !pkg.Has(main) {
		return extract.Info{}, pkg.OtherKind()
	}
	if err := b.checkProtection(); err != nil {
		return extract.Info{}, err
	}
	if err := b.readPackage(main); err != nil {
		return extract.Info{}, err
	}
	for _, id := range b.spine {
		if err := b.chapter(ctx, b.files[id]); err != nil {
			return extract.Info{}, err
		}
	}
	return extract.Info{Title: b.title, XML: pkg.XML()}, nil
}

// checkProtection returns an error if texts of the book are encrypted. Fonts may be: that keeps
// them from being copied out of the book.
func (b *book) checkProtection() error {
	return b.pkg.Each("meta-inf/encryption.xml", zipxml.SmallPart, "CipherReference", func(x *zipxml.Part, e *zipxml.Element) error {
		switch path.Ext(zipxml.Name("", e.Attr("URI"))) {
		case ".xhtml", ".html", ".htm", ".xml":
			return fault.Errorf(fault.Invalid, "the EPUB book is protected against copying, so that its text cannot be read: upload it without protection")
		}
		return x.Skip()
	})
}

// readPackage reads the title, files and order of the book, and then its table of contents.
func (b *book) readPackage(main string) error {
	folder := path.Dir("/" + main)
	seen := map[string]bool{} // ids of chapters
	for _, wanted := range []struct {
		local string
		found func(*zipxml.Part, *zipxml.Element) error
	}{
		{"title", func(x *zipxml.Part, _ *zipxml.Element) error {
			text, err := x.Text()
			if b.title == "" {
				b.title = strings.TrimSpace(text)
			}
			return err
		}},
		{"creator", func(x *zipxml.Part, _ *zipxml.Element) error {
			text, err := x.Text()
			if text = strings.Join(strings.Fields(text), " "); text != "" && len(b.authors) < 20 {
				b.authors = append(b.authors, text)
			}
			return err
		}},
		{"item", func(x *zipxml.Part, e *zipxml.Element) error {
			if len(b.files) >= maxItems {
				return x.Skip()
			}
			f := item{target(folder, e.Attr("href")), e.Attr("media-type"), e.Attr("properties")}
			b.files[e.Attr("id")] = f
			if f.kind == "application/x-dtbncx+xml" || strings.Contains(f.properties, "nav") {
				b.tables = append(b.tables, f.name)
			}
			return x.Skip()
		}},
		{"itemref", func(x *zipxml.Part, e *zipxml.Element) error {
			if id := e.Attr("idref"); len(b.spine) < maxChapters && !seen[id] {
				seen[id] = true
				b.spine = append(b.spine, id)
			}
			return x.Skip()
		}},
	} {
		if err := b.pkg.Each(main, zipxml.SmallPart, wanted.local, wanted.found); err != nil {
			return err
		}
	}
	for _, name := range b.tables[:min(len(b.tables), 3)] {
		if err := b.readContents(name); err != nil {
			return err
		}
	}
	if len(b.authors) > 0 {
		return b.w.Write("- author: " + strings.Join(b.authors, ", ") + "\n\n")
	}
	return nil
}

// target returns the name of the file that a reference in a folder leads to.
func target(folder, reference string) string {
	reference, _, _ = strings.Cut(reference, "#")
	if plain, err := url.PathUnescape(reference); err == nil {
		reference = plain
	}
	if reference == "" {
		return ""
	}
	return zipxml.Name(folder, reference)
}

// readContents reads a table of contents: a page with links, or the older form (NCX).
func (b *book) readContents(name string) error {
	folder := path.Dir("/" + name)
	add := func(reference, title string) {
		at := target(folder, reference)
		if title = extract.CleanTitle(title); title != "" && b.contents[at] == "" && len(b.contents) < maxItems {
			b.contents[at] = title
		}
	}
	err := b.pkg.Each(name, zipxml.SmallPart, "navMap", func(x *zipxml.Part, _ *zipxml.Element) error {
		label := ""
		var visit func(e *zipxml.Element) error
		visit = func(e *zipxml.Element) (err error) {
			switch e.Local {
			case "text":
				label, err = x.Text()
				return err
			case "content":
				add(e.Attr("src"), label)
			}
			return x.Children(visit)
		}
		return x.Children(visit)
	})
	if err != nil {
		return err
	}
	return b.pkg.Each(name, zipxml.SmallPart, "a", func(x *zipxml.Part, e *zipxml.Element) error {
		text, err := x.Text()
		add(e.Attr("href"), text)
		return err
	})
}

// chapter reads a file of the book.
func (b *book) chapter(ctx context.Context, f item) error {
	if f.kind != "application/xhtml+xml" && f.kind != "text/html" || strings.Contains(f.properties, "nav") {
		return nil
	}
	r, err := b.pkg.Read(f.name, maxChapter)
	if r == nil || err != nil {
		return err
	}
	defer r.Close()
	decoded, err := html.Decode(r)
	if err == io.EOF { // an empty file
		return nil
	}
	if err != nil {
		return err
	}
	_, err = html.Convert(ctx, decoded, &chapter{w: b.w, title: b.contents[f.name]})
	return err
}

// chapter receives the text of a chapter, and begins a section before text without a heading.
type chapter struct {
	w     *extract.Writer
	title string // of the chapter in the table of contents; "" once the chapter has a heading
	begun bool   // the chapter has text
}

func (c *chapter) Begin(level int, title string) error {
	c.title, c.begun = "", true
	return c.w.Begin(level, title)
}

func (c *chapter) Write(text string) error {
	if c.title != "" {
		title := c.title
		c.title = ""
		if err := c.w.Begin(1, title); err != nil {
			return err
		}
	}
	if !c.begun {
		text = "\n\n" + text
	}
	c.begun = true
	return c.w.Write(text)
}
