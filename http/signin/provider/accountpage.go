package provider

import (
	"context"
	"net/http"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/apitoken"
)

// grantView shows a grant to its user.
type grantView struct {
	ID, Name, Since, Used string
	Tools                 bool
}

// tokenView shows an API token to the user it acts as.
type tokenView struct{ ID, Note, Scope, Since, Until, Used string }

// accountView is the content of the account page.
type accountView struct {
	Grants  []grantView
	Tokens  []tokenView
	Factors accounts.Factors
}

// accountPage shows users the programs that act for them, and their factors.
func (p *Provider) accountPage(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return p.showLogin(w, v, loginForm{}, "")
	}
	return p.showAccountPage(w, r, v, "")
}

func (p *Provider) showAccountPage(w http.ResponseWriter, r *http.Request, v visitor, wrong string) error {
	grants, err := p.accounts.Grants(r.Context(), v.user, p.now())
	if err != nil {
		return err
	}
	const day = "2 January 2006"
	var all []grantView
	for _, g := range grants {
		all = append(all, grantView{g.ID, g.Name, g.Created.Format(day), g.Used.Format(day), g.Audience == p.issuer.Tools()})
	}
	tokens, err := p.tokenViews(r.Context(), v.user, day)
	if err != nil {
		return err
	}
	factors, err := p.accounts.Factors(r.Context(), v.user)
	if err != nil {
		return err
	}
	shown := view{Title: "Your sign-ins", Content: accountView{all, tokens, factors}, Problem: wrong}
	if wrong != "" {
		shown.status = http.StatusUnprocessableEntity
	}
	return p.show(w, v, "home.html", shown)
}

// tokenViews returns the unexpired tokens that act as a user.
func (p *Provider) tokenViews(ctx context.Context, user, day string) (all []tokenView, err error) {
	tokens, err := p.accounts.Tokens(ctx, user)
	for _, t := range tokens {
		if p.now().After(t.Expires) {
			continue
		}
		shown := tokenView{t.ID, t.Note, string(t.Scope), t.Created.Format(day), t.Expires.Format(day), "never"}
		if !t.Used.IsZero() {
			shown.Used = t.Used.Format(day)
		}
		all = append(all, shown)
	}
	return all, err
}

// logout ends the session of this browser, or all sessions and grants of its user.
func (p *Provider) logout(w http.ResponseWriter, r *http.Request, v visitor) error {
	everywhere := r.PostForm.Get("everywhere") != ""
	if everywhere && !v.signedIn() { // the sign-in page would look as if it were done
		return errSessionEnded
	}
	err := p.accounts.EndSession(r.Context(), v.cookie)
	if err == nil && everywhere {
		err = p.accounts.SignOut(r.Context(), v.user)
	}
	if err != nil {
		return err
	}
	if v.signedIn() {
		event := accounts.Event{Kind: accounts.SignedOut, User: v.user}
		if everywhere {
			event.Detail = "everywhere"
		}
		p.report(r, event)
	}
	p.setCookie(w, "")
	p.clearReaderCookie(w)
	redirect(w, p.pathTo("/"))
	return nil
}

// endProgram ends a grant of the user, or an API token that acts as the user.
func (p *Provider) endProgram(w http.ResponseWriter, r *http.Request, v visitor) error {
	if id := r.PostForm.Get("id"); v.signedIn() && apitoken.IsID(id) {
		ended, err := p.accounts.RevokeTokenOf(r.Context(), v.user, id)
		if err != nil {
			return err
		}
		if ended {
			p.report(r, accounts.Event{Kind: accounts.TokenRevoked, User: v.user, Client: id})
		}
	} else if v.signedIn() {
		client, err := p.accounts.EndGrantOf(r.Context(), v.user, id)
		if err != nil {
			return err
		}
		if client != "" {
			p.report(r, accounts.Event{Kind: accounts.ProgramEnded, User: v.user, Client: client})
		}
	}
	redirect(w, p.pathTo("/"))
	return nil
}

// changePassword sets another password. That ends everything the old one began, but this
// browser stays signed in.
func (p *Provider) changePassword(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		redirect(w, p.pathTo("/"))
		return nil
	}
	_, _, err := p.authenticate(r, attempt{name: v.user, password: r.PostForm.Get("password"), signedIn: true})
	if err == nil {
		err = p.accounts.SetPassword(r.Context(), v.user, r.PostForm.Get("new"))
	}
	if shown := problemOf(err); shown != nil {
		if shown.text == wrongPassword {
			shown.text = "The password that you have now is another."
		}
		return p.showAccountPage(w, r, v, shown.text)
	}
	if err != nil {
		return err
	}
	account, hash, err := p.accounts.CheckPassword(r.Context(), accounts.Command, v.user, r.PostForm.Get("new"))
	if err == nil {
		_, err = p.signIn(w, r, v, account, hash, "password")
	}
	if err != nil && !fault.Is(err, fault.Unauthenticated) { // it was changed once more
		return err
	}
	redirect(w, p.pathTo("/"))
	return nil
}
