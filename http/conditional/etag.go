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

// Tag returns the ETag of a body.
type Tag func(body []byte) string

// Weak returns a tag of the body, for things without a version.
func Weak(body []byte) string { return `W/"` + hash(body) + `"` }

// Document returns the tag of a document's version, regardless of the body.
func Document(version int) Tag {
	return func([]byte) string { return `"` + strconv.Itoa(version) + `"` }
}

// Folder returns the tag of a folder's version and of the body, because new documents in
// a folder change the body but not the version.
func Folder(version int64) Tag {
	return func(body []byte) string { return `"` + strconv.FormatInt(version, 10) + "." + hash(body) + `"` }
}

// Permissions returns the tag of a folder's permissions at its version.
func Permissions(version int64) Tag {
	return func([]byte) string { return `"` + strconv.FormatInt(version, 10) + `"` }
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Unchanged sets the ETag of a reply. If the request is a read whose If-None-Match has
// that ETag, it replies 304 and returns true.
func Unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "private, no-cache")
	if !IsRead(r) || !noneMatch(r.Header.Values("If-None-Match"), etag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// IsRead reports whether a request only reads.
func IsRead(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// noneMatch reports whether If-None-Match has a tag, by the weak comparison of RFC 9110
// 8.8.3.2. The service's tags contain no commas.
func noneMatch(given []string, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(given, ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
