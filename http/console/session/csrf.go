package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"mime"
	"net/http"
	"time"
)

const (
	// FormField is the field of a form that contains the form token.
	FormField = "csrf"
	// FormHeader is the header that contains the form token in requests of scripts.
	FormHeader = "X-CSRF-Token"

	// browserCookie is the name of the cookie that identifies the browser.
	browserCookie   = "annals_visitor"
	browserLifetime = 365 * 24 * time.Hour

	// maxForm is the maximum size of a form whose token CheckCSRF reads.
	maxForm = 1 << 20
)

// CSRF returns the token that forms of this browser must contain. It sets the cookie of the
// browser if there is none, so it must be called before anything is written to w. The token
// stays the same when the user signs in again, so that a form which was open in the meantime
// can still be sent, but not when another user signs in. It is "" if the key cannot be read, and
// for a form of another site: the browser has kept its cookies back, and would replace its id.
func (m *Manager) CSRF(w http.ResponseWriter, r *http.Request) string {
	if m.origin.Check(r) != nil {
		return ""
	}
	keys, err := m.keys(r.Context())
	if err != nil {
		m.logger.WarnContext(r.Context(), "cannot make a form token", "error", err)
		return ""
	}
	browser, found := m.browser(r)
	if !found {
		browser = m.browserSetOn(w)
	}
	return m.formToken(keys, r, browser)
}

// CheckCSRF reports whether a request was sent by a page of the console: it comes from the same
// origin, and has the form token in the header FormHeader or in the field FormField. Of a form
// with files only the header is read, unless the caller has parsed the form.
func (m *Manager) CheckCSRF(r *http.Request) bool {
	if m.origin.Check(r) != nil {
		return false
	}
	browser, found := m.browser(r)
	if !found {
		return false
	}
	token := r.Header.Get(FormHeader)
	if token == "" {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.PostForm == nil && err == nil && kind == "application/x-www-form-urlencoded" {
			r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
			if r.ParseForm() != nil {
				return false
			}
		}
		token = r.PostForm.Get(FormField)
	}
	keys, err := m.keys(r.Context())
	if err != nil {
		m.logger.WarnContext(r.Context(), "cannot check a form token", "error", err)
		return false
	}
	return token != "" && hmac.Equal([]byte(token), []byte(m.formToken(keys, r, browser)))
}

// formToken computes the form token for a browser and the user whose session cookie it has sent,
// even if the session has expired.
func (m *Manager) formToken(k keys, r *http.Request, browser string) string {
	var c content
	if text, found := m.cookies.get(r, sessionCookie); found {
		k.open(sessionCookie, text, &c)
	}
	mac := hmac.New(sha256.New, k.form)
	mac.Write([]byte(browser + "\x00" + string(c.User)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// browser returns the id of the browser that sent a request.
func (m *Manager) browser(r *http.Request) (id string, found bool) {
	id, found = m.cookies.get(r, browserCookie)
	return id, found && len(id) == len(rand.Text())
}

// browserSetOn gives the browser an id, unless this response has given it one already.
func (m *Manager) browserSetOn(w http.ResponseWriter) string {
	sent := &http.Request{Header: http.Header{}}
	for _, line := range w.Header().Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil {
			sent.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
	id, found := m.browser(sent)
	if !found {
		id = rand.Text()
		m.cookies.set(w, sent, cookie{name: browserCookie, value: id, lasts: browserLifetime})
	}
	return id
}
