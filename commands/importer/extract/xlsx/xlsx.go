// Package xlsx reads Excel workbooks (Office Open XML): each visible sheet is a page and a section, its
// rows are a table, and cells stand as they are displayed. It imports extract, extract/blocks,
// extract/ooxml, extract/zipxml and events/fault.
package xlsx

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/ooxml"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// Limits of a workbook.
const (
	maxSheets  = 10_000
	maxFormats = 100_000 // formats of cells, and also formats of numbers
)

// workbook is a workbook that is being read. Its sheets are read as streams.
type workbook struct {
	pkg       *zipxml.Package
	out       *blocks.Writer
	texts     stringTable
	formats   []int                // number of the format of each style of cells
	codes     map[int]string       // codes of formats
	parsed    map[int]numberFormat // formats that were used
	since1904 bool
	drawings  ooxml.Drawings

	full       bool // some shared texts were left out
	unknown    int  // formulas without a stored result
	wide       bool // cells of a row were left out
	hidden     []string
	sheetCount int
}

// sheet is a sheet in the list of a workbook.
type sheet struct {
	name, part string
	chart      bool // it has no cells, but a chart
}

// Read reads a workbook. It skips hidden sheets, and comments of cells. Formulas stand with the result
// that the program that saved the file has stored. Nothing that a workbook refers to outside of it is
// read, and macros are not run.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	pkg, err := zipxml.Open(ctx, f, "Excel workbook")
	if err != nil {
		return extract.Info{}, err
	}
	b := &workbook{pkg: pkg, out: blocks.NewWriter(w), codes: map[int]string{}, parsed: map[int]numberFormat{}, drawings: ooxml.Drawings{Package: pkg}}
	main, title, err := ooxml.Open(pkg, "xl/workbook.xml")
	if err != nil {
		return extract.Info{}, err
	}
	sheets, err := b.readWorkbook(main)
	if err != nil {
		return extract.Info{}, err
	}
	w.LimitBy(pkg.XML)
	for _, s := range sheets {
		if err = b.sheet(s); err != nil {
			break
		}
	}
	if extract.UnlessFull(err) != nil {
		return extract.Info{}, err
	}
	return extract.Info{Title: title, Pages: b.out.Page(), XML: pkg.XML(), Warnings: b.warnings()}, nil
}

func (b *workbook) warnings() (all []string) {
	if n := len(b.hidden); n > 0 {
		names := strings.Join(b.hidden[:min(n, 10)], ", ")
		if n > 10 {
			names += ", …"
		}
		all = append(all, fmt.Sprintf("Hidden sheets were not read: %s.", extract.CleanTitle(names)))
	}
	if b.full {
		all = append(all, fmt.Sprintf("The workbook has more than %d million different texts or %d MiB of them: cells with the texts beyond are empty.", maxStrings>>20, maxStringBytes>>20))
	}
	if b.unknown > 0 {
		results, them := "The result of 1 formula is", "it"
		if b.unknown > 1 {
			results, them = fmt.Sprintf("The results of %d formulas are", b.unknown), "them"
		}
		all = append(all, fmt.Sprintf("%s missing, because the program that saved the workbook did not calculate %s: open it in Excel or LibreOffice, save it, and upload the new file.", results, them))
	}
	if b.wide {
		all = append(all, fmt.Sprintf("A row has more than %d KiB of text: its last cells were left out.", maxRow>>10))
	}
	return all
}

// readWorkbook reads the workbook's parts except for the sheets, and returns the sheets to read.
func (b *workbook) readWorkbook(main string) (sheets []sheet, err error) {
	rels, err := ooxml.ReadRelations(b.pkg, main)
	if err != nil {
		return nil, err
	}
	folder := ooxml.Folder(main)
	err = b.pkg.Each(main, zipxml.SmallPart, "workbook", func(x *zipxml.Part, _ *zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			switch e.Local {
			case "workbookPr":
				b.since1904 = e.Attr("date1904") == "1" || e.Attr("date1904") == "true"
			case "sheets":
				return x.Children(func(e *zipxml.Element) error {
					if b.sheetCount++; b.sheetCount > maxSheets {
						return fault.Errorf(fault.Invalid, "the Excel workbook has more than %d sheets: split it, and upload the parts", maxSheets)
					}
					part := rels[e.Relation("id")].Target
					switch {
					case !b.pkg.Has(part):
					case strings.HasSuffix(strings.ToLower(e.Attr("state")), "hidden"):
						b.hidden = append(b.hidden, e.Attr("name"))
					default:
						sheets = append(sheets, sheet{name: e.Attr("name"), part: part})
					}
					return x.Skip()
				})
			}
			return x.Skip()
		})
	})
	if err != nil {
		return nil, err
	}
	if err := b.readFormats(rels.Find(b.pkg, "styles", folder+"styles.xml")); err != nil {
		return nil, err
	}
	return sheets, b.readTexts(rels.Find(b.pkg, "sharedStrings", folder+"sharedstrings.xml"))
}

// readFormats reads which format of numbers each style of cells has.
func (b *workbook) readFormats(part string) error {
	return b.pkg.Each(part, zipxml.SmallPart, "styleSheet", func(x *zipxml.Part, _ *zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			switch e.Local {
			case "numFmts":
				return x.Children(func(e *zipxml.Element) error {
					if id, err := strconv.Atoi(e.Attr("numFmtId")); err == nil && len(b.codes) < maxFormats {
						b.codes[id] = e.Attr("formatCode")
					}
					return x.Skip()
				})
			case "cellXfs":
				return x.Children(func(e *zipxml.Element) error {
					if id, err := strconv.Atoi(e.Attr("numFmtId")); len(b.formats) < maxFormats {
						if err != nil {
							id = 0
						}
						b.formats = append(b.formats, id)
					}
					return x.Skip()
				})
			}
			return x.Skip()
		})
	})
}

// readTexts reads the texts that cells share.
func (b *workbook) readTexts(part string) error {
	return b.pkg.Each(part, zipxml.AnyPart, "si", func(x *zipxml.Part, _ *zipxml.Element) error {
		if b.full {
			return x.Skip()
		}
		text, err := richText(x)
		b.full = !b.texts.add(text)
		return err
	})
}

// richText returns the text of the open element, without pronunciations.
func richText(x *zipxml.Part) (string, error) {
	var out strings.Builder
	err := appendText(x, &out)
	return out.String(), err
}

func appendText(x *zipxml.Part, out *strings.Builder) error {
	return x.Children(func(e *zipxml.Element) error {
		switch e.Local {
		case "t":
			text, err := x.Text()
			if out.Len()+len(text) <= maxRow { // a cell of Excel has at most 32,767 characters
				out.WriteString(text)
			}
			return err
		case "r":
			return appendText(x, out)
		}
		return x.Skip()
	})
}

// format returns the format of a style of cells.
func (b *workbook) format(style string) numberFormat {
	i, err := strconv.Atoi(style)
	id := 0
	if err == nil && i >= 0 && i < len(b.formats) {
		id = b.formats[i]
	}
	f, ok := b.parsed[id]
	if !ok {
		code, own := b.codes[id]
		if !own {
			code = builtin[id]
		}
		f = parseFormat(code)
		b.parsed[id] = f
	}
	return f
}
