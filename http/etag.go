package http

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// A tagger names the state of what is sent, as an ETag.
type tagger func(body []byte) string

// weakTag is for what has no version: equal bodies have equal tags.
func weakTag(body []byte) string { return `W/"` + hash(body) + `"` }

// documentTag names a document's version, whatever is told of it.
func documentTag(version int) tagger {
	return func([]byte) string { return `"` + strconv.Itoa(version) + `"` }
}

// folderTag names a folder's version and what is told of it: that documents
// came into it changes the folder's body and not its version.
func folderTag(version int64) tagger {
	return func(body []byte) string { return `"` + strconv.FormatInt(version, 10) + "." + hash(body) + `"` }
}

// permissionsTag names the version of a folder whose permissions are told.
func permissionsTag(version int64) tagger {
	return func([]byte) string { return `"` + strconv.FormatInt(version, 10) + `"` }
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// tagged answers with a value and its tag. A client that has the value already
// is told so where it only reads.
func (d dialect) tagged(status int, tag tagger, value any) reply {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := encode(value)
		if err != nil {
			return err
		}
		if unchanged(w, r, tag(body)) {
			return nil
		}
		d.send(w, status, body)
		return nil
	}
}

// unchanged sets the ETag of a reply, and answers 304 where the request is a
// read by a client that has it.
func unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "private, no-cache")
	if !isRead(r) || !noneMatch(r.Header.Values("If-None-Match"), etag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// noneMatch reports whether If-None-Match names a tag, by the weak comparison
// of RFC 9110 8.8.3.2. None of our tags has a comma in it.
func noneMatch(given []string, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(given, ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
