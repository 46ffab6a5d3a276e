package provider

import (
	"context"
	"net/http"
	"net/url"

	"annals/http/signin/accounts"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

// consentForm is the content of the consent page.
type consentForm struct {
	Query  string
	Client clientView
	Host   string // host to which the browser is redirected afterwards
	Tools  bool   // whether access is to the agents' tools instead of the core and the vault
	Switch string // URL at which the browser can sign in as another user
}

// clientView is what users see of a client.
type clientView struct {
	ID        string
	Title     string
	Page      string // host of the client's metadata page; "" if it has none
	Unchecked bool   // whether the metadata page cannot be reached
	Own       bool   // whether the client is the annals command line
	Local     bool   // whether the client runs on the user's device, where any program could pose as it
}

func viewOf(c clients.Client, local bool) clientView {
	view := clientView{ID: c.ID, Title: c.Title(), Unchecked: c.Unchecked, Own: c.ID == clients.CLIID, Local: local}
	if u, err := url.Parse(c.ID); err == nil && clients.IsPage(c.ID) {
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
	_, formTargets := a.shown()
	return p.show(w, v, "consent.html", view{
		Title: "Allow access",
		Content: consentForm{
			Query: a.query, Client: viewOf(a.client, !clients.IsWeb(a.redirect)), Host: clients.RedirectHost(a.redirect), Tools: a.audience == p.issuer.Tools(),
			Switch: p.pathTo("/authorize?" + other.Encode()),
		},
		formTargets: formTargets,
	})
}

// submitConsent handles the form with the user's decision. It checks the authorization request
// again, because the browser could have changed it in the form.
func (p *Provider) submitConsent(w http.ResponseWriter, r *http.Request, v visitor) error {
	a, err := p.parseAuthorization(r, r.PostForm.Get("query"))
	switch {
	case err != nil:
		return p.rejectAuthorization(w, r, v, a, err)
	case !v.signedIn():
		redirect(w, p.pathTo("/authorize?"+a.query))
		return nil
	case r.PostForm.Get("decision") != "allow":
		p.report(r, accounts.Event{Kind: accounts.ProgramDenied, User: v.user, Client: a.client.ID})
		redirect(w, p.errorURL(a, oauth.Errorf("access_denied", "the user denied consent")))
		return nil
	}
	return p.issueCode(w, r, v, a)
}

// consented reports whether the user has consented to the same request before. A client on the
// user's device needs consent each time, because another program could pose as it (RFC 8252
// §8.6). The console needs none, because it is a part of this server.
func (p *Provider) consented(ctx context.Context, user string, a *authorization) (bool, error) {
	switch {
	case a.client.FirstParty:
		return true, nil
	case !clients.IsWeb(a.redirect):
		return false, nil
	}
	g := a.grant()
	g.User = user
	return p.accounts.Consented(ctx, g, p.now())
}

// everConsented reports whether any user has consented before to redirect to the address of a
// for its client. It always returns true for an address on the user's device, and for the console.
func (p *Provider) everConsented(ctx context.Context, a *authorization) (bool, error) {
	if a.client.FirstParty || !clients.IsWeb(a.redirect) {
		return true, nil
	}
	return p.accounts.EverConsented(ctx, a.client.ID, a.redirect)
}
