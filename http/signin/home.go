package signin

import (
	"context"
	"net/http"

	"annals/events/fault"
	"annals/http/signin/apitoken"
)

// grantView is a sign-in as its user sees it.
type grantView struct {
	ID, Name, Since, Used string
	Tools                 bool
}

// tokenView is a token with which a program acts as its user, as that user sees it.
type tokenView struct{ ID, Note, Scope, Since, Until, Used string }

// homeView is what the page shows that lists them.
type homeView struct {
	Grants  []grantView
	Tokens  []tokenView
	Factors Factors
}

// home shows people the programs that act for them.
func (p *Provider) home(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return p.showLogin(w, v, loginForm{}, "")
	}
	return p.showHome(w, r, v, "")
}

func (p *Provider) showHome(w http.ResponseWriter, r *http.Request, v visitor, wrong string) error {
	grants, err := p.accounts.grants(r.Context(), v.user, p.now())
	if err != nil {
		return err
	}
	const day = "2 January 2006"
	var all []grantView
	for _, g := range grants {
		all = append(all, grantView{g.id, g.name, g.created.Format(day), g.used.Format(day), g.audience == p.issuer.tools})
	}
	tokens, err := p.tokenViews(r.Context(), v.user, day)
	if err != nil {
		return err
	}
	factors, err := p.accounts.Factors(r.Context(), v.user)
	if err != nil {
		return err
	}
	shown := view{Title: "Your sign-ins", Content: homeView{all, tokens, factors}, Problem: wrong}
	if wrong != "" {
		shown.status = http.StatusUnprocessableEntity
	}
	return p.show(w, v, "home.html", shown)
}

// tokenViews returns the tokens that act as a user and are good.
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

// logout ends the session of this browser, or everything of its user.
func (p *Provider) logout(w http.ResponseWriter, r *http.Request, v visitor) error {
	everywhere := r.PostForm.Get("everywhere") != ""
	if everywhere && !v.signedIn() { // the sign-in page would look as if it were done
		return errSessionEnded
	}
	err := p.accounts.endSession(r.Context(), v.cookie)
	if err == nil && everywhere {
		err = p.accounts.signOut(r.Context(), v.user)
	}
	if err != nil {
		return err
	}
	if v.signedIn() {
		event := Event{Kind: SignedOut, User: v.user}
		if everywhere {
			event.Detail = "everywhere"
		}
		p.report(r, event)
	}
	p.setCookie(w, "")
	p.forgetReader(w)
	redirect(w, p.here("/"))
	return nil
}

// forget ends one of the user's grants, or a token that acts as the user.
func (p *Provider) forget(w http.ResponseWriter, r *http.Request, v visitor) error {
	if id := r.PostForm.Get("id"); v.signedIn() && apitoken.IsID(id) {
		ended, err := p.accounts.revokeOwn(r.Context(), v.user, id)
		if err != nil {
			return err
		}
		if ended {
			p.report(r, Event{Kind: TokenRevoked, User: v.user, Client: id})
		}
	} else if v.signedIn() {
		client, err := p.accounts.forget(r.Context(), v.user, id)
		if err != nil {
			return err
		}
		if client != "" {
			p.report(r, Event{Kind: ProgramEnded, User: v.user, Client: client})
		}
	}
	redirect(w, p.here("/"))
	return nil
}

// changePassword gives the user another password. That ends everything the old
// one began, but this browser stays signed in.
func (p *Provider) changePassword(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		redirect(w, p.here("/"))
		return nil
	}
	_, _, err := p.authenticate(r, try{name: v.user, password: r.PostForm.Get("password"), signedIn: true})
	if err == nil {
		err = p.accounts.SetPassword(r.Context(), v.user, r.PostForm.Get("new"))
	}
	if shown := problemOf(err); shown != nil {
		if shown.text == wrongPassword {
			shown.text = "The password that you have now is another."
		}
		return p.showHome(w, r, v, shown.text)
	}
	if err != nil {
		return err
	}
	account, hash, err := p.accounts.authenticate(r.Context(), ownTurn, v.user, r.PostForm.Get("new"))
	if err == nil {
		_, err = p.signIn(w, r, v, account, hash, "password")
	}
	if err != nil && !fault.Is(err, fault.Unauthenticated) { // it was changed once more
		return err
	}
	redirect(w, p.here("/"))
	return nil
}
