package provider

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"annals/http/signin/accounts"
)

// passkeyView is a passkey on the page of factors.
type passkeyView struct{ ID, Name, Since, Used string }

// securityView is the content of the page on which users manage their second factors.
type securityView struct {
	accounts.Factors
	Required   bool
	Keys       []passkeyView
	NoPasskeys string // why passkeys are not available; "" if they are available
}

// security shows the page on which users manage their factors.
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
	for _, k := range stored {
		shown := passkeyView{base64.RawURLEncoding.EncodeToString(k.ID), k.Name, k.Created.Format(dateFormat), "never"}
		if k.Used.UnixMicro() > 0 {
			shown.Used = k.Used.Format(dateFormat)
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

// changeSecurity handles the forms that change second factors. Each form must contain the
// password. Otherwise anyone who finds a signed-in browser could change the factors.
func (p *Provider) changeSecurity(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return errSessionEnded
	}
	action, argument, _ := strings.Cut(r.PostForm.Get("do"), ":")
	err := p.changeFactor(w, r, v, action, argument)
	wrong := problemOf(err)
	if wrong == nil {
		return err
	}
	if wrong.text == wrongPassword {
		wrong = &problem{status: http.StatusUnprocessableEntity, text: "That is not your current password. Each change needs it."}
	}
	if action == "passkey" { // the request comes from passkey.js
		writeJSON(w, http.StatusOK, passkeyReply{Problem: wrong.text})
		return nil
	}
	return p.showSecurity(w, r, v, wrong)
}

func (p *Provider) changeFactor(w http.ResponseWriter, r *http.Request, v visitor, action, argument string) error {
	_, hash, err := p.authenticate(r, attempt{name: v.user, password: r.PostForm.Get("password"), signedIn: true})
	if err != nil {
		return err
	}
	f, err := p.accounts.Factors(r.Context(), v.user)
	if err != nil {
		return err
	}
	switch action {
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

// lastFactor returns the problem to show for accounts.ErrLastFactor. It returns all other
// errors unchanged.
func lastFactor(err error) error {
	if errors.Is(err, accounts.ErrLastFactor) {
		return &problem{status: http.StatusUnprocessableEntity, text: "Your account needs a second factor, and this is the last one. Set up another one first."}
	}
	return err
}
