package provider

import (
	"net/http"

	"annals/http/signin/accounts"
)

// linkForm is the content of the page that a password link opens.
type linkForm struct{ Code, Name string }

var errLinkInvalid = problemf(http.StatusForbidden, "This link is wrong, was used, or has expired. Ask the operator of this service for a new one.")

// passwordLink shows the page that a password link opens. It does not invalidate the link,
// because mail programs open links before the user does.
func (p *Provider) passwordLink(w http.ResponseWriter, r *http.Request, v visitor) error {
	code := r.URL.Query().Get("code")
	name, err := p.checkLink(r, code)
	if err != nil {
		return err
	}
	return p.showLink(w, p.ensureCookie(w, v), linkForm{code, name}, nil)
}

func (p *Provider) showLink(w http.ResponseWriter, v visitor, form linkForm, wrong *problem) error {
	return p.showWith(w, v, "link.html", view{Title: "Set your password", Content: form}, wrong)
}

// setPasswordByLink sets the password of the link's user and then continues with the sign-in.
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

// checkLink returns the user for the code of a password link. Wrong codes are limited because
// each of them costs a lookup, not because a code could be guessed.
func (p *Provider) checkLink(r *http.Request, code string) (name string, err error) {
	address := p.Address(r)
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
