package pdf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
)

// helvetica are the widths of letters, in thousandths of the font size.
var helvetica = map[rune]int{'A': 667, 'C': 722, 'E': 667, 'F': 611, 'G': 778, 'I': 278, 'N': 722, 'O': 778, 'P': 667, 'R': 722, 'S': 667, 'T': 611, 'U': 722, 'W': 944, 'Y': 667, 'c': 500, 'e': 556, 'i': 222, 'o': 556, 't': 278}

// shown returns a text object at a place of a page.
func shown(x, y, size float64, text string) string {
	return fmt.Sprintf("BT 1 0 0 1 %g %g Tm /F1 %g Tf (%s) Tj ET\n", x, y, size, text)
}

// below shows letters one below another, with the same left edge or the same axis. A space leaves a place empty.
func below(x, y, size, step float64, letters string, centred bool) (content string) {
	for _, r := range letters {
		left := x
		if centred {
			left -= float64(helvetica[r]) * size / 2000
		}
		if r != ' ' {
			content += shown(left, y, size, string(r))
		}
		y -= step
	}
	return content
}

// columnsOf shows the cells of a table column by column.
func columnsOf(x, y, step float64, columns ...string) (content string) {
	for i, column := range columns {
		for j, cell := range strings.Fields(column) {
			content += shown(x+80*float64(i), y-step*float64(j), 10, cell)
		}
	}
	return content
}

func running(x, y, step float64) (content string) {
	for i := range 20 {
		content += shown(x, y-step*float64(i), 10, fmt.Sprintf("Words of an ordinary paragraph that fills its lines, such as line %d of this one", i))
	}
	return content
}

func rule(x0, y0, x1, y1 int) string { return fmt.Sprintf("%d %d m %d %d l S\n", x0, y0, x1, y1) }

func TestLettersBelowEachOther(t *testing.T) {
	title := shown(72, 740, 18, "A title")
	grid := "0.5 w\n"
	for _, y := range []int{710, 630, 600, 570} {
		grid += rule(60, y, 300, y)
	}
	for _, x := range []int{60, 90, 200, 300} {
		grid += rule(x, 710, x, 570)
	}
	r := extracttest.ProcessReader(t, extract.Limits{})
	for name, c := range map[string]struct{ content, want string }{ // want is a regular expression, with blanks for any space
		"alone":                  {below(72, 700, 14, 20, "NOTICE", false), `^NOTICE$`},
		"below a title":          {title + below(72, 700, 14, 20, "NOTICE", true), `title NOTICE$`},
		"before text":            {below(72, 700, 14, 20, "NOTICE", true) + running(120, 720, 13), `^NOTICE Words`},
		"beside text":            {running(120, 720, 13) + below(72, 700, 14, 20, "NOTICE", false), `line 19 of this one NOTICE$`},
		"beside lines as far":    {below(72, 700, 14, 14, "NOTICE", true) + running(120, 700, 14), `^NOTICE Words`},
		"small letters":          {title + below(72, 700, 14, 20, "Notice", true), `title Notice$`},
		"blank":                  {title + below(72, 700, 14, 20, "SAFE CITY", true), `title SAFE CITY$`},
		"columns":                {title + below(72, 700, 14, 20, "NOTICE", true) + below(90, 700, 14, 20, "WARNING", true), `title NOTICE WARNING$`},
		"columns of one length":  {title + below(72, 700, 14, 20, "NOTICE", true) + below(90, 700, 14, 20, "FACTOR", true), `title NOTICE FACTOR$`},
		"side of a table":        {title + below(100, 700, 10, 12, "GROUP", true) + columnsOf(120, 700, 24, "Name North South", "Value 12 14"), `title GROUP `},
		"head cell":              {grid + below(75, 698, 10, 12, "NOTICE", true) + shown(100, 660, 10, "Name") + shown(210, 660, 10, "Value") + columnsOf(70, 612, 30, "1 2") + columnsOf(100, 612, 30, "North South") + columnsOf(210, 612, 30, "12 14"), `\| NOTICE \| Name \| Value \| \| --- .* \| 2 \| South \| 14 \|`},
		"column of a table":      {title + columnsOf(100, 700, 14, "Name North South East West Up Down", "Class A B N Y A C", "Value 12 14 15 11 10 10"), ` A B N Y A C `},
		"all columns of a table": {title + columnsOf(100, 700, 14, "A B N Y A", "N A Y B A", "Y N A C B"), `\| A \| N \| Y \| \| --- .*\| B \| A \| N \| \| N \| Y \| A \|`},
		"alphabet":               {title + below(72, 700, 14, 20, "abcdef", false), ` a b c d e f$`},
		"digits":                 {title + below(72, 700, 14, 20, "123456", false), ` 1 2 3 4 5 6$`},
		"answers":                {title + below(72, 700, 14, 20, "YNNYYN", false), ` Y N N Y Y N$`},
		"far from each other":    {title + below(72, 700, 14, 40, "NOTICE", false), ` N O T I C E$`},
		"uneven":                 {title + below(72, 700, 14, 20, "NO", false) + below(72, 655, 14, 17, "TI", false) + below(72, 610, 14, 23, "CE", false), ` N O T I C E$`},
		"three letters":          {title + below(72, 700, 14, 20, "ICE", false), ` I C E$`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "page.pdf")
			if err := os.WriteFile(path, extracttest.PDF(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			text, _, err := extracttest.Markdown(t, r, path, "page.pdf")
			if text = strings.Join(strings.Fields(text), " "); err != nil || !regexp.MustCompile(c.want).MatchString(text) {
				t.Errorf("text %q, %v, want %s", text, err, c.want)
			}
		})
	}
}
