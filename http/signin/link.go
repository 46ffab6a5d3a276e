package signin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"annals/events/fault"
)

// LinkLifetime is how long a one-time link may be used.
const LinkLifetime = time.Hour

// NewLink returns the URL of a page, below the issuer's, on which whoever has it
// gives the user a new password, once within LinkLifetime. It replaces the one
// before, and ends when the password is changed in another way. A second factor is
// asked for all the same.
func (i *Issuer) NewLink(ctx context.Context, name string) (link string, err error) {
	account, err := i.accounts.Get(ctx, name)
	if err != nil {
		return "", err
	}
	if err := account.mayHavePassword(); err != nil {
		return "", err
	}
	if account.Disabled {
		return "", fault.Errorf(fault.Forbidden, "user %q is disabled", account.Name)
	}
	code := newSecret()
	_, err = i.accounts.db.exec(ctx, `
		INSERT INTO links (code, "user", expires) VALUES ($1, $2, $3)
		ON CONFLICT ("user") DO UPDATE SET code = excluded.code, expires = excluded.expires`,
		digest(code), account.Name, i.now().Add(LinkLifetime).UnixMicro())
	if err != nil {
		return "", fmt.Errorf("store a link for user %q: %w", account.Name, err)
	}
	i.accounts.observe(ctx, Event{Kind: LinkCreated, User: account.Name})
	return strings.TrimSuffix(i.url, "/") + "/link?" + url.Values{"code": {code}}.Encode(), nil
}

// linkedUser returns whose a link is; "" for one that is wrong, was used, or has
// expired.
func (a *Accounts) linkedUser(ctx context.Context, code string, now time.Time) (user string, err error) {
	err = a.db.row(ctx, `SELECT "user" FROM links WHERE code = $1 AND expires > $2`, digest(code), now.UnixMicro()).Scan(&user)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for a link: %w", err)
	}
	return user, nil
}

// useLink gives a link's user another password; it reports false where the link has
// ended meanwhile.
func (a *Accounts) useLink(ctx context.Context, code, user, password string, now time.Time) (hash string, used bool, err error) {
	if hash, err = hashPassword(ctx, password); err != nil {
		return "", false, err
	}
	err = a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		used = false
		n, err := tx.exec(ctx, `DELETE FROM links WHERE code = $1 AND "user" = $2 AND expires > $3`, digest(code), user, now.UnixMicro())
		if err != nil || n == 0 {
			return err
		}
		n, err = tx.exec(ctx, `UPDATE users SET password = $2 WHERE name = $1 AND NOT disabled AND NOT deleted AND NOT service`, user, hash)
		used = n > 0
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("use a link: %w", err)
	}
	if used {
		a.observe(ctx, Event{Kind: PasswordChanged, User: user, Detail: "by a one-time link"})
	}
	return hash, used, nil
}

// linkForm is what the page of a link shows.
type linkForm struct{ Code, Name string }

var errLink = problemf(http.StatusForbidden, "This link is wrong, was used, or has expired. Ask the operator of this service for another.")

// link shows the page on which a link is used. To look at it uses nothing up: mail
// programs do.
func (p *Provider) link(w http.ResponseWriter, r *http.Request, v visitor) error {
	code := r.URL.Query().Get("code")
	name, err := p.checkLink(r, code)
	if err != nil {
		return err
	}
	if v.cookie == "" {
		v.cookie = newSecret()
		p.setCookie(w, v.cookie)
	}
	return p.showLink(w, v, linkForm{code, name}, nil)
}

func (p *Provider) showLink(w http.ResponseWriter, v visitor, form linkForm, wrong *problem) error {
	return p.showWith(w, v, "link.html", view{Title: "Set your password", Content: form}, wrong)
}

// setByLink takes the new password and signs the browser in with it.
func (p *Provider) setByLink(w http.ResponseWriter, r *http.Request, v visitor) error {
	code := r.PostForm.Get("code")
	name, err := p.checkLink(r, code)
	if err != nil {
		return err
	}
	hash, used, err := p.accounts.useLink(r.Context(), code, name, r.PostForm.Get("new"), p.now())
	if shown := problemOf(err); shown != nil {
		return p.showLink(w, v, linkForm{code, name}, shown)
	}
	if err != nil {
		return err
	}
	if !used {
		return errLink
	}
	return p.enter(w, r, v, Account{Name: name}, hash, step{})
}

// checkLink returns whose a link is. Wrong ones are counted, although none can be
// guessed: each is looked up.
func (p *Provider) checkLink(r *http.Request, code string) (name string, err error) {
	address := p.address(r)
	if wait := p.addresses.take(address); wait > 0 {
		return "", tooManyTries(wait)
	}
	name, err = p.accounts.linkedUser(r.Context(), code, p.now())
	switch {
	case err != nil:
		return "", err
	case name == "":
		p.report(r, Event{Kind: SignInFailed, Detail: "link"})
		return "", errLink
	}
	p.addresses.giveBack(address)
	return name, nil
}
