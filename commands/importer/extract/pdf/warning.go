package pdf

import (
	"fmt"
	"strings"
)

// warnings returns warnings about pages whose pictures were not read and damaged pages.
func (l *Layout) warnings() []string {
	var out []string
	if n := len(l.unread); n > 0 { // they may have typed text, too
		out = append(out, ofPages(n, l.doc.Pages, "looks scanned, and the text in its picture is missing", "look scanned, and the text in their pictures is missing")+l.named(l.unread)+".")
	}
	if n := len(l.broken); n > 0 {
		out = append(out, fmt.Sprintf("%s damaged and could not be read completely%s.", ofPages(n, l.doc.Pages, "is", "are"), l.named(l.broken)))
	}
	return out
}

// named returns a list of pages that follows a statement about them. An only page needs none.
func (l *Layout) named(pages []int) string {
	if l.doc.Pages == 1 {
		return ""
	}
	return ": " + pageList(pages)
}

func ofPages(n, all int, one, many string) string {
	switch {
	case all == 1:
		return "The only page " + one
	case n == 1:
		return fmt.Sprintf("1 of %d pages %s", all, one)
	}
	return fmt.Sprintf("%d of %d pages %s", n, all, many)
}

// pageList formats sorted page numbers as ranges, such as "1, 4-5". It shortens long lists.
func pageList(pages []int) string {
	var b strings.Builder
	for i, ranges := 0, 0; i < len(pages); ranges++ {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if ranges == 20 {
			b.WriteString(" and others")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, pages[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", pages[j])
		}
		i = j + 1
	}
	return b.String()
}
