package provider

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"annals/events"
	"annals/http/signin/accounts"
)

// A browser that opens a link to a document has no token. It is redirected here, the user
// signs in, and the browser returns with a cookie that is sent below documentsPath only and
// refers to the session. It permits reading documents and nothing else.

// documentsPath is the prefix of document links, on every host.
const documentsPath = "/documents"

// DocumentStep is the path, below the issuer's URL, to which browsers without a session are
// redirected from a document. Its parameter "to" is the path of the document to return to; the
// fragment is kept.
const DocumentStep = "/document"

// documentLink matches the paths to which a browser may be redirected.
var documentLink = regexp.MustCompile(`^` + documentsPath + `/[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\.[A-Za-z]{2,10}$`)

const readerPurpose = "reader"

// reader is the content of the cookie.
type reader struct {
	Session []byte `json:"session"` // digest of the session's own cookie
}

func (p *Provider) readerCookie() http.Cookie {
	c := p.cookie
	c.Path, c.Name = documentsPath, strings.Replace(c.Name, "__Host-", "__Secure-", 1)+"reader"
	return c
}

// openDocumentLink redirects a browser to a document, after the sign-in if there is no
// session. Browsers keep the fragment, which names the page, across redirects; fragment.js
// keeps it across forms.
func (p *Provider) openDocumentLink(w http.ResponseWriter, r *http.Request, v visitor) error {
	to := r.URL.Query().Get("to")
	if !documentLink.MatchString(to) {
		return problemf(http.StatusNotFound, "This link leads to no document.")
	}
	if !v.signedIn() {
		form := loginForm{Next: step{Page: "document", Query: url.Values{"to": {to}}.Encode()}, OtherIssuers: p.otherIssuers()}
		return p.showLogin(w, v, form, "")
	}
	value, err := p.accounts.Seal(r.Context(), readerPurpose, reader{accounts.Digest(v.cookie)}, p.now().Add(accounts.SessionLifetime))
	if err != nil {
		return err
	}
	c := p.readerCookie()
	c.Value = value
	http.SetCookie(w, &c)
	redirect(w, to)
	return nil
}

// otherIssuers returns the trusted issuers whose users cannot sign in on these pages.
func (p *Provider) otherIssuers() (others []string) {
	for _, url := range p.servers {
		if url != p.issuer.URL() {
			others = append(others, url)
		}
	}
	return others
}

// clearReaderCookie deletes the cookie, which is useless once its session has ended.
func (p *Provider) clearReaderCookie(w http.ResponseWriter) {
	c := p.readerCookie()
	c.MaxAge = -1
	http.SetCookie(w, &c)
}

// Reader returns the user whose browser requests a document, with read-only access. It looks
// up the session each time, so that signing out and disabling the user take effect at once.
func (p *Provider) Reader(r *http.Request) (user events.User, found bool, err error) {
	ctx := r.Context()
	c, err := r.Cookie(p.readerCookie().Name)
	if err != nil {
		return user, false, nil
	}
	var content reader
	_, valid, err := p.accounts.Unseal(ctx, readerPurpose, c.Value, &content, p.now())
	if err != nil || !valid {
		return user, false, err
	}
	session, found, err := p.accounts.Session(ctx, content.Session, p.now())
	if err != nil || !found {
		return user, false, err
	}
	user = session.User()
	user.ReadOnly = true
	return user, true, nil
}
