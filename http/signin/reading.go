package signin

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"annals/events"
)

// A link to a document is opened by a browser, which has no token. It comes by here,
// has its person sign in, and goes back with a cookie of the session that is good for
// reading documents alone: it is sent to no other path, and holds no more than that the
// session is there.

// documentsPath is below which links to documents lie, on every host.
const documentsPath = "/documents"

// DocumentStep is the path, below the issuer's URL, that a browser is sent to before
// it opens a document; its parameter "to" is the document's path, to which it comes back
// with what is behind the "#".
const DocumentStep = "/document"

// documentLink matches the path of a document, which has no query: to there and to
// nowhere else a browser is sent back.
var documentLink = regexp.MustCompile(`^` + documentsPath + `/[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\.[A-Za-z]{2,10}$`)

const readerPurpose = "reader"

// reader is what that cookie says.
type reader struct {
	Session []byte `json:"session"` // digest of the session's own cookie
}

func (p *Provider) readerCookie() http.Cookie {
	c := p.cookie
	c.Path, c.Name = documentsPath, strings.Replace(c.Name, "__Host-", "__Secure-", 1)+"reader"
	return c
}

// openDocument brings a browser to a document, by way of the sign-in where nobody is
// signed in. The page of the document, behind the "#", is with the browser all the
// way: it keeps that over redirects, and a script of the pages over forms.
func (p *Provider) openDocument(w http.ResponseWriter, r *http.Request, v visitor) error {
	to := r.URL.Query().Get("to")
	if !documentLink.MatchString(to) {
		return problemf(http.StatusNotFound, "This link leads to no document.")
	}
	if !v.signedIn() {
		form := loginForm{Next: step{Page: "document", Query: url.Values{"to": {to}}.Encode()}, Elsewhere: p.elsewhere()}
		return p.showLogin(w, v, form, "")
	}
	key, err := p.accounts.sealKey(r.Context())
	if err != nil {
		return err
	}
	c := p.readerCookie()
	if c.Value, err = key.Seal(readerPurpose, reader{digest(v.cookie)}, p.now().Add(sessionLifetime)); err != nil {
		return err
	}
	http.SetCookie(w, &c)
	redirect(w, to)
	return nil
}

// elsewhere returns the issuers whose people cannot sign in on these pages.
func (p *Provider) elsewhere() (others []string) {
	for _, url := range p.servers {
		if url != p.issuer.url {
			others = append(others, url)
		}
	}
	return others
}

// forgetReader has the browser drop the cookie, which is worth nothing without its
// session.
func (p *Provider) forgetReader(w http.ResponseWriter) {
	c := p.readerCookie()
	c.MaxAge = -1
	http.SetCookie(w, &c)
}

// Reader returns the user who is signed in in the browser that asks for a document;
// false for none. It is asked of the accounts, so that signing out and disabling the
// user hold at once. Such a user reads, and changes nothing.
func (p *Provider) Reader(r *http.Request) (user events.User, found bool, err error) {
	ctx := r.Context()
	c, err := r.Cookie(p.readerCookie().Name)
	if err != nil {
		return user, false, nil
	}
	key, err := p.accounts.sealKey(ctx)
	if err != nil {
		return user, false, err
	}
	var says reader
	if _, err := key.Open(readerPurpose, c.Value, &says, p.now()); err != nil {
		return user, false, nil
	}
	return p.accounts.readerOf(ctx, says.Session, p.now().UnixMicro())
}

// readerOf returns the user of a session, given the digest of its cookie.
func (a *Accounts) readerOf(ctx context.Context, session []byte, now int64) (user events.User, found bool, err error) {
	var name string
	var groups []byte
	var names []string
	err = a.db.row(ctx, `
		SELECT u.name, u.admin, u.groups FROM sessions s JOIN users u ON u.name = s."user"
		WHERE s.cookie = $1 AND s.expires > $2 AND NOT u.disabled AND NOT u.deleted`, session, now).Scan(&name, &user.Admin, &groups)
	if errors.Is(err, sql.ErrNoRows) {
		return events.User{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(groups, &names)
	}
	if err != nil {
		return events.User{}, false, fmt.Errorf("look for a reader's session: %w", err)
	}
	user.Principal, user.Groups, user.ReadOnly = events.Principal("user:"+name), groupsOf(names), true
	return user, true, nil
}
