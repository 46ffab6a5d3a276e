package provider

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"annals/events"
	"annals/http/signin/accounts"
)

// A browser that opens a link to a document sends no token. It is redirected to DocumentStep,
// where the user signs in, and then back to the document with a cookie. That cookie contains
// the digest of the session's cookie. Browsers send it only below documentsPath, and it only
// allows reading documents.

// documentsPath is the path prefix of links to documents, on every host.
const documentsPath = "/documents"

// DocumentStep is the path, below the issuer's URL, to which a browser without a session is
// redirected from a document. The parameter "to" is the path of the document, to which the
// browser is redirected after the sign-in.
const DocumentStep = "/document"

// documentLink matches the paths of documents. After the sign-in the browser is redirected to
// no other path.
var documentLink = regexp.MustCompile(`^` + documentsPath + `/[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\.[A-Za-z]{2,10}$`)

const readerPurpose = "reader"

// reader is the content of the cookie that lets a browser read documents.
type reader struct {
	Session []byte `json:"session"` // digest of the session cookie
}

func (p *Provider) readerCookie() http.Cookie {
	c := p.cookie
	c.Path, c.Name = documentsPath, strings.Replace(c.Name, "__Host-", "__Secure-", 1)+"reader"
	return c
}

// openDocumentLink sets the cookie for documents and redirects the browser to the document.
// Without a session it shows the sign-in page first. The fragment of the link, such as a page
// number, must not be lost: browsers keep it across redirects, and fragment.js keeps it across
// forms.
func (p *Provider) openDocumentLink(w http.ResponseWriter, r *http.Request, v visitor) error {
	to := r.URL.Query().Get("to")
	if !documentLink.MatchString(to) {
		return problemf(http.StatusNotFound, "This is not a link to a document.")
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

// otherIssuers returns the URLs of the external issuers. Their users cannot sign in on the
// sign-in page, which therefore lists them.
func (p *Provider) otherIssuers() (others []string) {
	for _, url := range p.servers {
		if url != p.issuer.URL() {
			others = append(others, url)
		}
	}
	return others
}

// clearReaderCookie deletes the cookie for documents, which is no longer valid after the
// session has ended.
func (p *Provider) clearReaderCookie(w http.ResponseWriter) {
	c := p.readerCookie()
	c.MaxAge = -1
	http.SetCookie(w, &c)
}

// Reader returns the user who is signed in in the browser that requests a document. The user
// has only read access. Reader looks up the session in each call, so that signing out or
// disabling the user takes effect immediately.
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
