package conditional

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"annals/http/problem"
)

// Errors for a missing or invalid version.
const (
	badIfMatch     = "If-Match must be the ETag of the version that was read, with its quotes"
	noVersion      = "the version that was read must be given, as If-Match or as version"
	noIfMatch      = "the version that was read must be given as If-Match"
	versionsDiffer = "If-Match and version must name the same version"
)

// The formats of ETags. The tag of a folder may have a hash after the version. The tag of
// an original is its SHA-256.
var (
	fileTag            = regexp.MustCompile(`^"([0-9a-f]{64})"$`)
	documentVersionTag = regexp.MustCompile(`^"([1-9]\d{0,17})"$`)
	folderVersionTag   = regexp.MustCompile(`^"([1-9]\d{0,17})(?:\.[0-9a-f]+)?"$`)
)

// ifMatch returns the version in If-Match. given is false without If-Match. Weak ETags, lists
// and "*" are added to wrong as errors.
func ifMatch(h http.Header, format *regexp.Regexp, wrong *problem.Rejected) (version int64, given bool) {
	all := h.Values("If-Match")
	if len(all) == 0 {
		return 0, false
	}
	tag := format.FindStringSubmatch(strings.Join(all, ","))
	if tag == nil {
		*wrong = append(*wrong, badIfMatch)
		return 0, true
	}
	version, _ = strconv.ParseInt(tag[1], 10, 64) // cannot overflow: at most 18 digits
	return version, true
}

// FolderVersion returns a folder's version from If-Match, or -1 for any version if there is no
// If-Match.
func FolderVersion(h http.Header, wrong *problem.Rejected) int64 {
	if version, given := ifMatch(h, folderVersionTag, wrong); given {
		return version
	}
	return -1
}

// DocumentVersion returns a document's version from If-Match, or the parameter version if
// given is true, which the caller has read from the body or query. If a request has both, they
// must be equal. It returns 0 if the version is missing or invalid.
func DocumentVersion(h http.Header, version int, given bool, wrong *problem.Rejected) int {
	before := len(*wrong)
	match, matched := ifMatch(h, documentVersionTag, wrong)
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

// ContentVersion returns what If-Match contains: a document's version, or the SHA-256 of its
// original.
func ContentVersion(h http.Header, wrong *problem.Rejected) (version int, sum string) {
	if tag := fileTag.FindStringSubmatch(strings.Join(h.Values("If-Match"), ",")); tag != nil {
		return 0, tag[1]
	}
	match, given := ifMatch(h, documentVersionTag, wrong)
	if !given {
		*wrong = append(*wrong, noIfMatch)
	}
	return int(min(match, math.MaxInt32)), ""
}
