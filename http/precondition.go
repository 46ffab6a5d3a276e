package http

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// What is told of versions that will not do.
const (
	badIfMatch     = "If-Match must be the one version that was read, as its ETag gave it: a number in quotes"
	noVersion      = "the version that was read must be given, as If-Match or as version"
	noIfMatch      = "the version that was read must be given as If-Match"
	versionsDiffer = "If-Match and version must name the same version"
)

// The ETags that tell versions: those of a folder may have a hash behind it.
// That of a document's stored file tells its SHA-256.
var (
	fileTag            = regexp.MustCompile(`^"([0-9a-f]{64})"$`)
	documentVersionTag = regexp.MustCompile(`^"([1-9]\d{0,17})"$`)
	folderVersionTag   = regexp.MustCompile(`^"([1-9]\d{0,17})(?:\.[0-9a-f]+)?"$`)
)

// ifMatch returns the version that a call's If-Match names; given is false
// where there is none. A weak tag, a list, and "*" name none.
func (c *call) ifMatch(form *regexp.Regexp, wrong *rejected) (version int64, given bool) {
	all := c.Header.Values("If-Match")
	if len(all) == 0 {
		return 0, false
	}
	tag := form.FindStringSubmatch(strings.Join(all, ","))
	if tag == nil {
		*wrong = append(*wrong, badIfMatch)
		return 0, true
	}
	version, _ = strconv.ParseInt(tag[1], 10, 64) // 18 digits fit
	return version, true
}

// versionForFolder returns the version of a folder that a change is for, -1
// where any will do.
func (c *call) versionForFolder(wrong *rejected) int64 {
	if version, given := c.ifMatch(folderVersionTag, wrong); given {
		return version
	}
	return -1
}

// versionForDocument returns the version of a document that a change is for, by
// If-Match or as it was given otherwise, 0 where that is faulty; both must be
// the same.
func (c *call) versionForDocument(version int, given bool, wrong *rejected) int {
	before := len(*wrong)
	match, matched := c.ifMatch(documentVersionTag, wrong)
	match = min(match, math.MaxInt32)
	switch {
	case !given && !matched:
		*wrong = append(*wrong, noVersion)
	case given && matched && version != 0 && len(*wrong) == before && int64(version) != match:
		*wrong = append(*wrong, versionsDiffer)
	case matched:
		return int(match)
	}
	return version
}

// versionForContent returns the version of a document that new content is for,
// or the SHA-256 of the file that it is to replace.
func (c *call) versionForContent(wrong *rejected) (version int, sum string) {
	if tag := fileTag.FindStringSubmatch(strings.Join(c.Header.Values("If-Match"), ",")); tag != nil {
		return 0, tag[1]
	}
	match, given := c.ifMatch(documentVersionTag, wrong)
	if !given {
		*wrong = append(*wrong, noIfMatch)
	}
	return int(min(match, math.MaxInt32)), ""
}
