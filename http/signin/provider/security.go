package provider

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"annals/http/signin/accounts"
)

// passkeyView shows a passkey to its user.
type passkeyView struct{ ID, Name, Since, Used string }

// securityView is the content of the page on which users manage their factors.
type securityView struct {
	accounts.Factors
	Required   bool
	Keys       []passkeyView
	NoPasskeys string // why there can be none
}

// security shows users their factors.
func (p *Provider) security(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return p.showLogin(w, v, loginForm{Next: step{Page: "security"}}, "")
	}
	return p.showSecurity(w, r, v, nil)
}

func (p *Provider) showSecurity(w http.ResponseWriter, r *http.Request, v visitor, wrong *problem) error {
	f, err := p.accounts.Factors(r.Context(), v.user)
	if err != nil {
		return err
	}
	stored, err := p.accounts.Passkeys(r.Context(), v.user)
	if err != nil {
		return err
	}
	content := securityView{Factors: f, Required: f.Required || p.requireFactor}
	const day = "2 January 2006"
	for _, k := range stored {
		shown := passkeyView{base64.RawURLEncoding.EncodeToString(k.ID), k.Name, k.Created.Format(day), "never"}
		if k.Used.UnixMicro() > 0 {
			shown.Used = k.Used.Format(day)
		}
		content.Keys = append(content.Keys, shown)
	}
	page := view{Title: "Second factor and passkeys"}
	if p.passkeys == nil {
		content.NoPasskeys = p.noPasskeys
	} else {
		page.Scripts = []string{"passkey.js"}
	}
	page.Content = content
	return p.showWith(w, v, "security.html", page, wrong)
}

// changeSecurity changes factors. Each change takes the password, so that a browser left open
// is not enough.
func (p *Provider) changeSecurity(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return errSessionEnded
	}
	what, argument, _ := strings.Cut(r.PostForm.Get("do"), ":")
	err := p.changeFactor(w, r, v, what, argument)
	wrong := problemOf(err)
	if wrong == nil {
		return err
	}
	if wrong.text == wrongPassword {
		wrong = &problem{status: http.StatusUnprocessableEntity, text: "The password is another. Each change takes the one that you have now."}
	}
	if what == "passkey" { // the script asks
		writeJSON(w, http.StatusOK, passkeyReply{Problem: wrong.text})
		return nil
	}
	return p.showSecurity(w, r, v, wrong)
}

func (p *Provider) changeFactor(w http.ResponseWriter, r *http.Request, v visitor, what, argument string) error {
	_, hash, err := p.authenticate(r, attempt{name: v.user, password: r.PostForm.Get("password"), signedIn: true})
	if err != nil {
		return err
	}
	f, err := p.accounts.Factors(r.Context(), v.user)
	if err != nil {
		return err
	}
	switch what {
	case "codes":
		if f.Codes {
			break
		}
		t := newTicket(v, v.user, hash, step{Page: "security"})
		t.SignedIn = true
		return p.showCodeSetup(w, r, v, t, nil)
	case "no-codes":
		if !f.Codes {
			break
		}
		if err := p.accounts.DisableCodes(r.Context(), v.user, p.requireFactor); err != nil {
			return lastFactor(err)
		}
		p.report(r, accounts.Event{Kind: accounts.FactorRemoved, User: v.user, Detail: "totp"})
	case "recovery":
		if !f.Any() {
			break
		}
		codes, err := p.accounts.RenewRecoveryCodes(r.Context(), v.user)
		if err != nil {
			return err
		}
		p.report(r, accounts.Event{Kind: accounts.FactorAdded, User: v.user, Detail: "recovery codes"})
		return p.showRecovery(w, v, codes, step{Page: "security"})
	case "passkey":
		return p.startPasskeyRegistration(w, r, v)
	case "no-passkey":
		id, err := base64.RawURLEncoding.DecodeString(argument)
		if err != nil {
			break
		}
		name, err := p.accounts.RemovePasskey(r.Context(), v.user, id, p.requireFactor)
		if err != nil {
			return lastFactor(err)
		}
		if name != "" {
			p.report(r, accounts.Event{Kind: accounts.FactorRemoved, User: v.user, Detail: "passkey " + name})
		}
	}
	redirect(w, p.pathTo("/security"))
	return nil
}

// lastFactor returns accounts.ErrLastFactor as a problem, and other errors unchanged.
func lastFactor(err error) error {
	if errors.Is(err, accounts.ErrLastFactor) {
		return &problem{status: http.StatusUnprocessableEntity, text: "A second factor is required of you, and this is the last: set up another first."}
	}
	return err
}
