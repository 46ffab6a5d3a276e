package http

import (
	"net/url"
	"strings"
)

// Link returns the address of a deep link, which is a path with a page, on the host
// of root; "" without one.
func Link(root *url.URL, deepLink string) string {
	if root == nil || root.Host == "" {
		return ""
	}
	return root.Scheme + "://" + root.Host + "/" + strings.TrimPrefix(deepLink, "/")
}
