package passages

import "slices"

// pageAt returns the page of the byte at offset, or 0 if the text has no pages.
func pageAt(startPage int, breaks []int, offset int) int {
	if startPage == 0 {
		return 0
	}
	n, _ := slices.BinarySearch(breaks, offset+1)
	return startPage + n
}
