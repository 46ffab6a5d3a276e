// Package conditional serves conditional and partial requests: ETags, If-None-Match,
// If-Match and Range, by RFC 9110. It imports http/problem.
package conditional

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// Tag returns the ETag for a body.
type Tag func(body []byte) string

// Weak returns a weak ETag, computed from the body, for resources without a version.
func Weak(body []byte) string { return `W/"` + hash(body) + `"` }

// Document returns the ETag of a document's version. It does not depend on the body.
func Document(version int) Tag {
	return func([]byte) string { return `"` + strconv.Itoa(version) + `"` }
}

// Folder returns the ETag of a folder, from its version and the body. The body is included
// because new documents in a folder change the body but not the version.
func Folder(version int64) Tag {
	return func(body []byte) string { return `"` + strconv.FormatInt(version, 10) + "." + hash(body) + `"` }
}

// Permissions returns the ETag of a folder's permission list, from the folder's version.
func Permissions(version int64) Tag {
	return func([]byte) string { return `"` + strconv.FormatInt(version, 10) + `"` }
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Unchanged sets the ETag of a reply. If the request is a GET or HEAD and its If-None-Match
// contains that ETag, Unchanged replies 304 and returns true.
func Unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "private, no-cache")
	if !Known(r, etag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// Known reports whether a request is a GET or HEAD whose If-None-Match contains an ETag: the
// reply is then 304.
func Known(r *http.Request, etag string) bool {
	return IsRead(r) && noneMatch(r.Header.Values("If-None-Match"), etag)
}

// IsRead reports whether a request is a GET or HEAD.
func IsRead(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// noneMatch reports whether If-None-Match contains an ETag, by the weak comparison of RFC 9110
// §8.8.3.2. Splitting at commas is safe because no ETag of this service contains one.
func noneMatch(given []string, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(given, ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
