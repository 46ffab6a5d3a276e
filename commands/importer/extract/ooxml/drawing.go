package ooxml

import (
	"strconv"
	"strings"

	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"
)

const (
	maxChartPoints = 10_000 // strings and values that are read from a series or title
	maxSeries      = 1_000  // series of a chart
	// A chart's own data table in Word and Excel has a column for each category. With more
	// categories than these, the table has a row for each.
	maxCategoryColumns = 12
)

// Drawings reads charts and diagrams. One that is used several times is read only once.
type Drawings struct {
	Package *zipxml.Package
	shown   map[string]bool // by part name
}

func (d *Drawings) first(part string) bool {
	if d.shown == nil {
		d.shown = make(map[string]bool)
	}
	before := d.shown[part]
	d.shown[part] = true
	return !before && d.Package.Has(part)
}

// series is a series of a chart.
type series struct {
	name               string
	categories, values []string
}

// Titles emits the titles of a chart, and the names of series that are in no cell of a sheet.
func (d *Drawings) Titles(part string, out blocks.Sink) error {
	if !d.first(part) {
		return nil
	}
	if err := d.titles(part, out); err != nil {
		return err
	}
	var names []string
	err := d.Package.Each(part, zipxml.SmallPart, "ser", func(x *zipxml.Part, _ *zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			if e.Local != "tx" {
				return x.Skip()
			}
			return x.Children(func(e *zipxml.Element) error {
				if e.Local != "v" {
					return x.Skip() // a reference to a cell
				}
				text, err := x.Text()
				if text = strings.TrimSpace(text); text != "" && len(names) < maxSeries {
					names = append(names, text)
				}
				return err
			})
		})
	})
	if err != nil || len(names) == 0 {
		return err
	}
	return out(blocks.Block{Text: blocks.Escape(strings.Join(names, ", "))})
}

func (d *Drawings) titles(part string, out blocks.Sink) error {
	var titles []string
	err := d.Package.Each(part, zipxml.SmallPart, "title", func(x *zipxml.Part, _ *zipxml.Element) error {
		return paragraphs(x, &titles)
	})
	if err != nil || len(titles) == 0 {
		return err
	}
	return out(blocks.Block{Text: blocks.Escape(strings.Join(titles, " "))})
}

// Chart emits the titles, series and categories of a chart, as a table.
func (d *Drawings) Chart(part string, out blocks.Sink) error {
	if !d.first(part) {
		return nil
	}
	if err := d.titles(part, out); err != nil {
		return err
	}
	var all []series
	count := 0
	err := d.Package.Each(part, zipxml.SmallPart, "ser", func(x *zipxml.Part, _ *zipxml.Element) error {
		var s series
		var name []string
		err := x.Children(func(e *zipxml.Element) error {
			switch e.Local {
			case "tx":
				return label(x, &name)
			case "cat", "xVal":
				return points(x, &s.categories)
			case "val", "yVal":
				return points(x, &s.values)
			}
			return x.Skip()
		})
		s.name = strings.Join(name[:min(len(name), 8)], " ")
		if count += len(s.values); len(all) < maxSeries && count <= 10*maxChartPoints {
			all = append(all, s)
		}
		return err
	})
	if err != nil {
		return err
	}
	return chartTable(all, out)
}

// chartTable emits the values of a chart as a table.
func chartTable(all []series, out blocks.Sink) error {
	if len(all) == 0 {
		return nil
	}
	var categories []string // the first series that has a category at some place names it
	for _, s := range all {
		if n := len(categories); len(s.categories) > n {
			categories = append(categories, s.categories[n:]...)
		}
	}
	longest := len(categories)
	for _, s := range all {
		longest = max(longest, len(s.values))
	}
	at := func(list []string, i int) string {
		if i < len(list) {
			return list[i]
		}
		return ""
	}
	t := &blocks.Table{Out: out}
	add := func(cells int, text func(i int) string) error {
		r := &blocks.Row{}
		for i := range cells {
			r.Add(text(i), 1)
		}
		return t.Add(r)
	}
	if longest <= maxCategoryColumns {
		if err := add(longest+1, func(i int) string { return at(append([]string{""}, categories...), i) }); err != nil {
			return err
		}
		for _, s := range all {
			if err := add(longest+1, func(i int) string { return at(append([]string{s.name}, s.values...), i) }); err != nil {
				return err
			}
		}
		return t.Flush()
	}
	err := add(len(all)+1, func(i int) string {
		if i == 0 {
			return ""
		}
		return all[i-1].name
	})
	for p := 0; p < longest && err == nil; p++ {
		err = add(len(all)+1, func(i int) string {
			if i == 0 {
				return at(categories, p)
			}
			return at(all[i-1].values, p)
		})
	}
	if err != nil {
		return err
	}
	return t.Flush()
}

// Diagram emits the strings of a diagram (SmartArt) as a list. part is its data part.
func (d *Drawings) Diagram(part string, out blocks.Sink) error {
	if !d.first(part) {
		return nil
	}
	return d.Package.Each(part, zipxml.SmallPart, "pt", func(x *zipxml.Part, _ *zipxml.Element) error {
		var all []string
		if err := paragraphs(x, &all); err != nil || len(all) == 0 {
			return err
		}
		return out(blocks.Block{Kind: blocks.ListItem, Text: "- " + strings.Join(all, " ")})
	})
}

// paragraphs appends the paragraphs in the open element.
func paragraphs(x *zipxml.Part, to *[]string) error {
	return x.Children(func(e *zipxml.Element) error {
		if e.Local != "p" {
			return paragraphs(x, to)
		}
		var out strings.Builder
		err := runs(x, &out)
		if text := strings.Join(strings.Fields(out.String()), " "); text != "" && len(*to) < maxChartPoints {
			*to = append(*to, text)
		}
		return err
	})
}

// runs appends the text of all runs in the open element.
func runs(x *zipxml.Part, out *strings.Builder) error {
	return x.Children(func(e *zipxml.Element) error {
		switch e.Local {
		case "t":
			text, err := x.Text()
			out.WriteString(text)
			return err
		case "br":
			out.WriteByte(' ')
		}
		return runs(x, out)
	})
}

// points sets the values of the points in the open element. Points have an index, because empty
// ones are left out. Categories may have several levels; the inner one is first.
func points(x *zipxml.Part, to *[]string) error {
	return x.Children(func(e *zipxml.Element) error {
		if e.Local != "pt" {
			return points(x, to)
		}
		at, err := strconv.Atoi(e.Attr("idx"))
		if err != nil || at < 0 || at >= maxChartPoints {
			return x.Skip()
		}
		return x.Children(func(e *zipxml.Element) error {
			if e.Local != "v" {
				return x.Skip()
			}
			text, err := x.Text()
			for len(*to) <= at {
				*to = append(*to, "")
			}
			if text = strings.Join(strings.Fields(text), " "); (*to)[at] != "" {
				text += " " + (*to)[at]
			}
			(*to)[at] = text
			return err
		})
	})
}

// label returns the name of the open series, which is a point or, rarely, a plain value.
func label(x *zipxml.Part, to *[]string) error {
	return x.Children(func(e *zipxml.Element) error {
		if e.Local != "v" {
			return label(x, to)
		}
		text, err := x.Text()
		*to = append(*to, strings.TrimSpace(text))
		return err
	})
}
