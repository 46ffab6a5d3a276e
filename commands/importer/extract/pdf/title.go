package pdf

import (
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"annals/commands/importer/extract"
)

const maxTitle = 250 // runes of a title

var (
	producerPrefix = regexp.MustCompile(`(?i)^(microsoft (word|powerpoint|excel|office word) - |powerpoint presentation|untitled|document\d*$|\(?anonymous\)?$|title$|no title|slide 1$|doc\d*$|layout \d|print$|draft$|new document|adobe (photoshop|illustrator|indesign|acrobat)\b|acrobat distiller|scan(ned)?( (document|image|file|page))?s? ?\d*$|ima?ge?[ _-]?\d*$|pdf( document)?$)`)
	fileEnding     = regexp.MustCompile(`(?i)\.(docx?|pdf|tex|dvi|ps|eps|rtf|odt|pptx?|xlsx?|html?|indd|qxd|pmd?|fm|wpd|txt|md|cdr|ai|pages|odp|ods|jpe?g|png|tiff?)$`)
	filePath       = regexp.MustCompile(`(?i)^([a-z]:\\|[/\\~]|file:)`)
	machineName    = regexp.MustCompile(`^\S*[\d_/\\]\S*$`)
)

// documentTitle returns the title in a document's metadata, or "" if it looks like one that a
// program and not the author has set: a file name, "untitled" or a number.
func documentTitle(title string) string {
	title = extract.CleanTitle(spellOut(title))
	n := utf8.RuneCountInString(title)
	switch {
	case n < 3 || n > maxTitle,
		producerPrefix.MatchString(title),
		fileEnding.MatchString(title),
		filePath.MatchString(title),
		machineName.MatchString(title),
		strings.ContainsRune(title, '\ufffd'),
		filepath.Base(title) != title && !strings.Contains(title, " "),
		stamp.MatchString(title),
		!strings.ContainsFunc(title, isWord):
		return ""
	}
	return title
}

// largestText returns the text in the largest font on the first page that has text, or "" if
// all text on that page has the same size.
func largestText(pages []layoutPage, style style) string {
	for _, p := range pages {
		best := -1
		for i := range p.lines {
			if l := &p.lines[i]; style.isLarge(l) && l.Y >= 0 && !partTitle.MatchString(l.Text) && (l.Confidence == 0 || len(l.Text) > 8) && (best < 0 || sizeOf(l) > sizeOf(&p.lines[best])) {
				best = i
			}
		}
		if best >= 0 {
			return titleFrom(p.lines, best)
		}
		if len(p.lines) > 0 {
			return ""
		}
	}
	return ""
}

// partTitle matches titles that parts of many documents have.
var partTitle = regexp.MustCompile(`(?i)^(?:(?:table of )?contents|table des matières|inhalt(?:sverzeichnis)?|sommaire|índice|abstract|preface|foreword|index)[:.]?$`)

func titleFrom(lines []layoutLine, i int) string {
	for i > 0 && lines[i].Confidence > 0 && lines[i-1].Confidence > 0 && continuesHeading(&lines[i-1], &lines[i]) {
		i--
	}
	title := ornament.ReplaceAllString(lines[i].Text, "")
	for ; i+1 < len(lines) && continuesHeading(&lines[i], &lines[i+1]) && len(title) < maxTitle; i++ {
		title += between(title, lines[i+1].Text) + lines[i+1].Text
	}
	if utf8.RuneCountInString(title) > maxTitle {
		return ""
	}
	return title
}
