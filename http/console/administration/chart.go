package administration

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Chart is a chart of bars, which a template draws as SVG, and writes as a table.
type Chart struct {
	Width, Height int
	Bars          []Bar
	Rows          []Row
	Highest       int64 // the number of the highest bar
}

// Bar is a rectangle of a chart.
type Bar struct {
	X, Y, Width, Height int
	Bad                 bool   // it stands for something that went wrong
	Title               string // what it stands for
}

// Row is what a chart shows about one thing.
type Row struct {
	Name    string
	Numbers []int64
}

// Sizes of charts, in units of the drawing.
const (
	dayWidth   = 10
	dayHeight  = 80
	kindWidth  = 300
	kindHeight = 14
	// maxKinds is the number of types of documents that are told apart.
	maxKinds = 8
)

// importsChart shows how many files were imported on each day.
func importsChart(days []Day) Chart {
	c := Chart{Width: dayWidth * max(1, len(days)), Height: dayHeight}
	for _, d := range days {
		c.Highest = max(c.Highest, d.Files)
	}
	for i, d := range days {
		name := d.Date
		if at, err := time.Parse(time.DateOnly, d.Date); err == nil {
			name = at.Format("2 January")
		}
		c.Rows = append(c.Rows, Row{name, []int64{d.Jobs, d.Files, d.Failed}})
		title := name + ": " + strconv.FormatInt(d.Files, 10) + " " + plural(int(d.Files), "file", "files")
		if d.Failed > 0 {
			title += ", " + strconv.FormatInt(d.Failed, 10) + " failed"
		}
		all, bad := scale(d.Files, c.Highest, dayHeight), scale(d.Failed, c.Highest, dayHeight)
		bar := Bar{X: i*dayWidth + 1, Width: dayWidth - 2, Title: title}
		if all > 0 {
			bar.Y, bar.Height = dayHeight-all, all
			c.Bars = append(c.Bars, bar)
		}
		if bad > 0 {
			bar.Y, bar.Height, bar.Bad = dayHeight-bad, bad, true
			c.Bars = append(c.Bars, bar)
		}
	}
	return c
}

// kindsChart shows how many documents there are of each type, the most frequent first.
func kindsChart(types []Type) Chart {
	types = slices.SortedFunc(slices.Values(types), func(a, b Type) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.ContentType, b.ContentType))
	})
	if len(types) > maxKinds {
		rest := Type{ContentType: "others"}
		for _, t := range types[maxKinds-1:] {
			rest.Documents, rest.Bytes = rest.Documents+t.Documents, rest.Bytes+t.Bytes
		}
		types = append(types[:maxKinds-1], rest)
	}
	c := Chart{Width: kindWidth, Height: kindHeight * max(1, len(types))}
	for _, t := range types {
		c.Highest = max(c.Highest, t.Documents)
	}
	for i, t := range types {
		name := kindOf(t.ContentType)
		c.Rows = append(c.Rows, Row{name, []int64{t.Documents, t.Bytes}})
		c.Bars = append(c.Bars, Bar{Y: i*kindHeight + 2, Width: scale(t.Documents, c.Highest, kindWidth), Height: kindHeight - 4, Title: name + ": " + strconv.FormatInt(t.Documents, 10)})
	}
	return c
}

// scale returns the length of a bar for n of highest. What there is, is seen.
func scale(n, highest int64, length int) int {
	if n <= 0 || highest <= 0 {
		return 0
	}
	return max(1, int(float64(n)/float64(highest)*float64(length)))
}

// kinds are names of content types.
var kinds = map[string]string{
	"application/pdf": "PDF", "text/markdown": "Markdown", "text/plain": "Text", "text/html": "Web pages", "text/csv": "Tables (CSV)", "message/rfc822": "Mail",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "Word",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "Excel",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
	"application/vnd.oasis.opendocument.text":                                   "OpenDocument text",
	"application/epub+zip": "EPUB",
}

func kindOf(contentType string) string {
	return cmp.Or(kinds[contentType], contentType, "unknown")
}
