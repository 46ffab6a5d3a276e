package signin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// consentForm is what the page shows on which people allow a program to act for
// them.
type consentForm struct {
	Query  string
	Client clientView
	Host   string // to which the browser goes then
	Tools  bool   // rather than the services
	Switch string // URL for signing in as somebody else
}

// clientView is a program as people are told of it.
type clientView struct {
	ID        string
	Title     string
	Page      string // host of the page that it publishes; "" for none
	Unchecked bool   // that page cannot be reached
	Own       bool   // a part of this program
	Local     bool   // on a device, where others could say that they are it
}

func viewOf(c client, local bool) clientView {
	view := clientView{ID: c.ID, Title: c.title(), Unchecked: c.unchecked, Own: c.ID == CLIClient, Local: local}
	if u, err := url.Parse(c.ID); err == nil && isClientPage(c.ID) {
		view.Page = u.Host
	}
	return view
}

func (p *Provider) showConsent(w http.ResponseWriter, v visitor, a *authorization) error {
	other, err := url.ParseQuery(a.query)
	if err != nil {
		return err
	}
	other.Set("prompt", "login")
	return p.show(w, v, "consent.html", view{
		Title: "Allow access",
		Content: consentForm{
			Query: a.query, Client: viewOf(a.client, !isWeb(a.redirect)), Host: redirectHost(a.redirect), Tools: a.audience == p.issuer.tools,
			Switch: p.here("/authorize?" + other.Encode()),
		},
		leads: formTarget(a.redirect),
	})
}

// consent takes the decision. The request is judged anew: it came by a form.
func (p *Provider) consent(w http.ResponseWriter, r *http.Request, v visitor) error {
	a, err := p.readAuthorization(r, r.PostForm.Get("query"))
	switch {
	case err != nil:
		return p.refuse(w, r, v, a, err)
	case !v.signedIn():
		redirect(w, p.here("/authorize?"+a.query))
		return nil
	case r.PostForm.Get("decision") != "allow":
		p.report(r, Event{Kind: ProgramDenied, User: v.user, Client: a.client.ID})
		redirect(w, p.refusalURL(a, refused("access_denied", "the user did not allow it")))
		return nil
	}
	return p.giveCode(w, r, v, a)
}

// consented reports whether a user has allowed this before and sees so among the
// sign-ins: once those have ended, the program asks anew. Of programs on the device
// nobody can tell that they are the ones which were allowed, so those always ask
// (RFC 8252 §8.6).
func (a *Accounts) consented(ctx context.Context, user string, to *authorization, now time.Time) (known bool, err error) {
	if !isWeb(to.redirect) {
		return false, nil
	}
	err = a.db.row(ctx, `
		SELECT EXISTS (SELECT 1 FROM grants WHERE "user" = $1 AND client = $2 AND audience = $3 AND redirect = $4 AND used > 0 AND expires > $5)`,
		user, to.client.ID, to.audience, to.redirect, now.UnixMicro()).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("look for a consent: %w", err)
	}
	return known, nil
}

// everConsented reports whether any user has allowed the program to be called back
// there; on the device itself it may always.
func (a *Accounts) everConsented(ctx context.Context, to *authorization) (known bool, err error) {
	if !isWeb(to.redirect) {
		return true, nil
	}
	err = a.db.row(ctx, `SELECT EXISTS (SELECT 1 FROM grants WHERE client = $1 AND redirect = $2 AND used > 0)`,
		to.client.ID, to.redirect).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("look for anybody's consent: %w", err)
	}
	return known, nil
}
