package provider

import (
	"net/http"

	"annals/http/signin/accounts"
)

// linkForm is the content of the page of a password link.
type linkForm struct{ Code, Name string }

var errLinkInvalid = problemf(http.StatusForbidden, "This link is wrong, was used, or has expired. Ask the operator of this service for another.")

// passwordLink shows the page of a link. Opening it does not use the link up, since mail
// programs open links.
func (p *Provider) passwordLink(w http.ResponseWriter, r *http.Request, v visitor) error {
	code := r.URL.Query().Get("code")
	name, err := p.checkLink(r, code)
	if err != nil {
		return err
	}
	if v.cookie == "" {
		v.cookie = accounts.NewSecret()
		p.setCookie(w, v.cookie)
	}
	return p.showLink(w, v, linkForm{code, name}, nil)
}

func (p *Provider) showLink(w http.ResponseWriter, v visitor, form linkForm, wrong *problem) error {
	return p.showWith(w, v, "link.html", view{Title: "Set your password", Content: form}, wrong)
}

// setPasswordByLink sets the password and signs the user in.
func (p *Provider) setPasswordByLink(w http.ResponseWriter, r *http.Request, v visitor) error {
	code := r.PostForm.Get("code")
	name, err := p.checkLink(r, code)
	if err != nil {
		return err
	}
	hash, used, err := p.accounts.UseLink(r.Context(), code, name, r.PostForm.Get("new"), p.now())
	if shown := problemOf(err); shown != nil {
		return p.showLink(w, v, linkForm{code, name}, shown)
	}
	if err != nil {
		return err
	}
	if !used {
		return errLinkInvalid
	}
	return p.afterPassword(w, r, v, accounts.Account{Name: name}, hash, step{})
}

// checkLink returns the user of a link. Wrong links are throttled although they cannot be
// guessed, because each costs a lookup.
func (p *Provider) checkLink(r *http.Request, code string) (name string, err error) {
	address := p.address(r)
	if wait := p.addresses.Take(address); wait > 0 {
		return "", tooManyTries(wait)
	}
	name, err = p.accounts.LinkUser(r.Context(), code, p.now())
	switch {
	case err != nil:
		return "", err
	case name == "":
		p.report(r, accounts.Event{Kind: accounts.SignInFailed, Detail: "link"})
		return "", errLinkInvalid
	}
	p.addresses.Refund(address)
	return name, nil
}
