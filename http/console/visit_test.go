package console

import (
	"io"
	"net/http"
	"testing"
)

// The access log has the address of the browser, and not that of a proxy before the server.
func TestCallsForwardTheAddressOfTheBrowser(t *testing.T) {
	l, calls := paper(), 0
	l.markdown = func(w io.Writer) error {
		_, err := io.WriteString(w, "# Mill\n")
		return err
	}
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if got := r.Header.Get("X-Forwarded-For"); got != "192.0.2.7" {
			t.Errorf("%s %s has X-Forwarded-For %q", r.Method, r.URL, got)
		}
		l.ServeHTTP(w, r)
	})
	page := s.as("alice", "GET", "/documents/"+docID+"?as=text", nil, "X-Forwarded-For", "192.0.2.7")
	if page.StatusCode != http.StatusOK || l.asked["/vault/documents/"+docID+"/markdown"] != 1 {
		t.Errorf("the page has the status %d after %d calls", page.StatusCode, calls)
	}
}
