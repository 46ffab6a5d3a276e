// Package webpage sends the pages that people see in a browser, with the headers that keep
// other sites away from them.
package webpage

import "net/http"

// None is where the Content-Security-Policy of every page begins: nothing may be loaded that
// the page does not name, and no other page may hold it in a frame.
const None = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; "

// Guard sets the headers that all pages have. Policy is what follows None in the
// Content-Security-Policy.
func Guard(h http.Header, policy string) {
	h.Set("Content-Security-Policy", None+policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers would send forms with the origin "null"
	h.Set("Cache-Control", "no-store")
}

// Write sends a whole page of HTML, guarded.
func Write(w http.ResponseWriter, status int, policy string, page []byte) {
	Guard(w.Header(), policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page) // an error means that the browser has disconnected
}
