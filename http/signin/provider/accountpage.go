package provider

import (
	"context"
	"net/http"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/apitoken"
	"annals/http/signin/provider/clients"
)

// dateFormat is the format of dates on pages.
const dateFormat = "2 January 2006"

// timeFormat is the format of times on pages.
const timeFormat = "2 January 2006, 15:04 UTC"

// grantView is a grant on the account page.
type grantView struct {
	ID, Name, Since, Used string
	Tools                 bool
	Here                  bool // it is of the browser that shows the page
}

// tokenView is an API token on the account page.
type tokenView struct{ ID, Note, Scope, Since, Until, Used string }

// accountView is the content of the account page.
type accountView struct {
	Grants  []grantView
	Tokens  []tokenView
	Factors accounts.Factors
}

// accountPage shows users their grants, API tokens and second factors.
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
	var all []grantView
	for _, g := range grants {
		here := g.Client == clients.ConsoleID && g.Authenticated.Equal(v.authenticated)
		all = append(all, grantView{g.ID, g.Name, g.Created.Format(dateFormat), g.Used.Format(timeFormat), g.Audience == p.issuer.Tools(), here})
	}
	tokens, err := p.tokenViews(r.Context(), v.user)
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

// tokenViews returns the API tokens of a user that have not expired.
func (p *Provider) tokenViews(ctx context.Context, user string) (all []tokenView, err error) {
	tokens, err := p.accounts.Tokens(ctx, user)
	for _, t := range tokens {
		if p.now().After(t.Expires) {
			continue
		}
		shown := tokenView{t.ID, t.Note, string(t.Scope), t.Created.Format(dateFormat), t.Expires.Format(dateFormat), "never"}
		if !t.Used.IsZero() {
			shown.Used = t.Used.Format(dateFormat)
		}
		all = append(all, shown)
	}
	return all, err
}

// logout ends the session in this browser. If the form has the field everywhere, it ends all
// sessions and grants of the user.
func (p *Provider) logout(w http.ResponseWriter, r *http.Request, v visitor) error {
	everywhere := r.PostForm.Get("everywhere") != ""
	if everywhere && !v.signedIn() { // the sign-in page, shown without this error, would suggest that all sessions have ended
		return errSessionEnded
	}
	if err := p.signOut(w, r, v, everywhere); err != nil {
		return err
	}
	if p.signedOut != nil {
		p.signedOut(w, r)
	}
	redirect(w, p.pathTo("/"))
	return nil
}

// signOut ends the session in this browser, and all sessions and grants of the user if
// everywhere is true.
func (p *Provider) signOut(w http.ResponseWriter, r *http.Request, v visitor, everywhere bool) error {
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
	return nil
}

// endProgram ends one grant or revokes one API token of the user.
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

// changePassword changes the user's password. That signs the user out everywhere; only this
// browser gets a new session.
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
			shown.text = "That is not your current password."
		}
		return p.showAccountPage(w, r, v, shown.text)
	}
	if err != nil {
		return err
	}
	account, hash, err := p.accounts.CheckPassword(r.Context(), accounts.CommandCaller, v.user, r.PostForm.Get("new"))
	if err == nil {
		_, err = p.signIn(w, r, v, account, hash, "password")
	}
	if err != nil && !fault.Is(err, fault.Unauthenticated) { // Unauthenticated means that the password was changed again meanwhile
		return err
	}
	redirect(w, p.pathTo("/"))
	return nil
}
