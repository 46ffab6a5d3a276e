package pdf_test

import (
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/pdf"
	"annals/commands/importer/extract/pdf/pdfium"
)

// ruledPage lays out a text as typesetPage sets it. Lines of the text with dashes only are horizontal rules; each bar is a piece of a
// vertical one.
func ruledPage(t *testing.T, text string) string {
	t.Helper()
	p := pdfium.Page{Number: 1, Width: 612, Height: 792}
	y := float32(200)
	for line := range strings.Lines(text) {
		y += 12
		for at, r := range line {
			x := 50 + 5*float32(at)
			if r == '|' {
				p.Rules = append(p.Rules, pdfium.Rule{X: x, Right: x + 1, Top: y - 9, Bottom: y + 3})
			}
			if r == '-' || r == '|' && strings.Contains(line, "--") && at+2 < len(line) {
				p.Rules = append(p.Rules, pdfium.Rule{X: x, Right: x + 5, Top: y - 3, Bottom: y - 2})
			}
		}
		if words := strings.Trim(strings.Map(func(r rune) rune {
			if r == '|' || r == '-' {
				return ' '
			}
			return r
		}, line), "\n"); strings.TrimSpace(words) != "" {
			p.Lines = append(p.Lines, typeset(50, y, words))
		}
	}
	var got []extract.Section
	w := extract.NewWriter(extracttest.Collect(&got), 0)
	l := pdf.NewLayout(pdfium.Document{Pages: 1}, w)
	if err := l.Add(p); err != nil || l.Close() != nil || w.Close() != nil {
		t.Fatal("the layout failed")
	}
	return titlesAndTexts(got)
}

func TestTablesWithRules(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"cells of several lines": {`
|--------|---------------|--------------------|
|Clause  |Party          |Duty                |
|--------|---------------|--------------------|
|        |a company with |has to do the work  |
|1       |a long name    |                    |
|--------|---------------|--------------------|
|2       |another one    |has to pay for all  |
|        |               |of it               |
|--------|---------------|--------------------|
`, `| Clause | Party | Duty |
| --- | --- | --- |
| 1 | a company with a long name | has to do the work |
| 2 | another one | has to pay for all of it |`},
		"merged cells": {`
|--------|---------------------|
|Place   |Measured             |
|        |----------|----------|
|        |2022      |2023      |
|--------|----------|----------|
|North   |1.5       |2.5       |
|--------|----------|----------|
|South   |2.5       |3.5       |
|--------|----------|----------|
`, `| Place | Measured | |
| --- | --- | --- |
| | 2022 | 2023 |
| North | 1.5 | 2.5 |
| South | 2.5 | 3.5 |`},
		"rules below the head only": {`
|--------|----------|----------|
|Place   |2022      |2023      |
|--------|----------|----------|
|North   |1.5       |2.5       |
|South   |2.5       |3.5       |
|West    |3.5       |4.5       |
|--------|----------|----------|
`, `| Place | 2022 | 2023 |
| --- | --- | --- |
| North | 1.5 | 2.5 |
| South | 2.5 | 3.5 |
| West | 3.5 | 4.5 |`},
		"two rows": {`
|--------|----------|
|Name    |Value     |
|--------|----------|
|length  |12 m      |
|--------|----------|
`, `| Name | Value |
| --- | --- |
| length | 12 m |`},
	} {
		if got := ruledPage(t, c.page); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestRulesThatAreNoTable(t *testing.T) {
	for name, page := range map[string]string{
		"frame around text": `
|-----------------------------|
|Keep this page for your      |
|records and return the other |
|-----------------------------|
`,
		"chart": `
|--------|----------|----------|
|        |    17    |          |
|--------|----------|----------|
|        |          |          |
|--------|----------|----------|
|        |          |    12    |
|--------|----------|----------|
 Mon      Tue        Wed
`,
		"form": `
|------------------------------|
|Name of the person            |
|--------------|---------------|
|Street        |City           |
|--------------|---------------|
|Signature                     |
|------------------------------|
`,
		"frames beside each other": `
|--------------|  |------------|
|some words in |  |other words |
|a first frame |  |in another  |
|--------------|  |------------|
`,
	} {
		if got := ruledPage(t, page); strings.Contains(got, "| --- |") {
			t.Errorf("%s is a table:\n%s", name, got)
		}
	}
}
