package provider

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"annals/http/signin/accounts"
	"annals/http/signin/passkey"
)

const ceremonyPurpose = "ceremony"

// ceremony is the state of a passkey challenge. The browser keeps it as a sealed text between
// the challenge and the response.
type ceremony struct {
	Browser  []byte           `json:"browser"`        // digest of the cookie
	User     string           `json:"user,omitempty"` // who registers a passkey; "" for a sign-in
	Question passkey.Ceremony `json:"question"`
}

// passkeyReply is the JSON that passkey.js receives.
type passkeyReply struct {
	Ceremony string `json:"ceremony,omitempty"`
	Options  any    `json:"options,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

func (p *Provider) sendCeremony(w http.ResponseWriter, r *http.Request, v visitor, user string, options any, c *passkey.Ceremony) error {
	text, err := p.accounts.Seal(r.Context(), ceremonyPurpose, ceremony{accounts.Digest(v.cookie), user, *c}, p.now().Add(ticketLifetime))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, passkeyReply{Ceremony: text, Options: options})
	return nil
}

var errPasskeyRefused = problemf(http.StatusForbidden, "The passkey was refused. It may have been removed here, or the page was open for too long. Reload the page and try again.")

// openCeremony returns the ceremony in a form and marks it as used. It rejects a ceremony that
// began in another browser.
func (p *Provider) openCeremony(r *http.Request, v visitor) (c ceremony, err error) {
	sealed, valid, err := p.accounts.Unseal(r.Context(), ceremonyPurpose, r.PostForm.Get("ceremony"), &c, p.now())
	if err != nil {
		return c, err
	}
	if !valid || !bytes.Equal(c.Browser, accounts.Digest(v.cookie)) {
		return c, errPasskeyRefused
	}
	first, err := p.accounts.Spend(r.Context(), sealed)
	if err == nil && !first {
		err = errPasskeyRefused
	}
	return c, err
}

// startPasskeyLogin replies with a challenge that any passkey for this host can sign.
func (p *Provider) startPasskeyLogin(w http.ResponseWriter, r *http.Request, v visitor) error {
	if p.passkeys == nil {
		return errPasskeyRefused
	}
	options, c, err := p.passkeys.BeginLogin()
	if err != nil {
		return err
	}
	return p.sendCeremony(w, r, v, "", options, c)
}

// finishPasskeyLogin signs in the user whose passkey has signed the challenge. Neither a
// password nor a second factor is needed.
func (p *Provider) finishPasskeyLogin(w http.ResponseWriter, r *http.Request, v visitor) error {
	if p.passkeys == nil {
		return errPasskeyRefused
	}
	address := p.Address(r)
	if wait := p.addresses.Take(address); wait > 0 {
		return tooManyTries(wait)
	}
	c, err := p.openCeremony(r, v)
	if err == nil && c.User != "" {
		err = errPasskeyRefused
	}
	if err != nil {
		return err
	}
	var user, hash string
	used, err := p.passkeys.FinishLogin(c.Question, []byte(r.PostForm.Get("credential")), func(handle []byte) (_ passkey.User, err error) {
		if user, hash, err = p.accounts.UserOfPasskey(r.Context(), handle); err != nil {
			return passkey.User{}, err
		}
		if user == "" {
			return passkey.User{}, passkey.ErrRefused
		}
		return p.accounts.PasskeyUser(r.Context(), user, handle)
	})
	if err == nil {
		var exists bool
		if exists, err = p.accounts.UsePasskey(r.Context(), user, used, p.now()); err == nil && !exists {
			err = passkey.ErrRefused
		}
	}
	if errors.Is(err, passkey.ErrRefused) {
		p.logger.InfoContext(r.Context(), "a passkey was refused", "address", address, "error", err)
		p.report(r, accounts.Event{Kind: accounts.SignInFailed, User: user, Detail: "passkey"})
		return errPasskeyRefused
	}
	if err != nil {
		return err
	}
	p.addresses.Refund(address)
	return p.startSession(w, r, v, user, hash, readStep(r.PostForm), "passkey")
}

// startPasskeyRegistration replies with a challenge for the registration of a passkey.
func (p *Provider) startPasskeyRegistration(w http.ResponseWriter, r *http.Request, v visitor) error {
	if p.passkeys == nil {
		return &problem{status: http.StatusUnprocessableEntity, text: p.noPasskeys}
	}
	user, err := p.passkeyUser(r, v)
	if err != nil {
		return err
	}
	options, c, err := p.passkeys.BeginRegistration(user)
	if err != nil {
		return err
	}
	return p.sendCeremony(w, r, v, v.user, options, c)
}

func (p *Provider) passkeyUser(r *http.Request, v visitor) (passkey.User, error) {
	handle, err := p.accounts.PasskeyHandle(r.Context(), v.user)
	if err != nil {
		return passkey.User{}, err
	}
	return p.accounts.PasskeyUser(r.Context(), v.user, handle)
}

// finishPasskeyRegistration stores a new passkey. It needs no password: the page checked the
// password before it sent the challenge.
func (p *Provider) finishPasskeyRegistration(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return errSessionEnded
	}
	if p.passkeys == nil {
		return errPasskeyRefused
	}
	c, err := p.openCeremony(r, v)
	if err == nil && c.User != v.user {
		err = errPasskeyRefused
	}
	if err != nil {
		return err
	}
	user, err := p.passkeyUser(r, v)
	if err != nil {
		return err
	}
	created, err := p.passkeys.FinishRegistration(user, c.Question, []byte(r.PostForm.Get("credential")))
	if err == nil {
		err = p.accounts.AddPasskey(r.Context(), v.user, passkeyName(r.PostForm.Get("name")), created, p.now())
	}
	if errors.Is(err, passkey.ErrRefused) {
		p.logger.InfoContext(r.Context(), "a new passkey was refused", "user", v.user, "error", err)
		err = errPasskeyRefused
	}
	if wrong := problemOf(err); wrong != nil {
		return p.showSecurity(w, r, v, wrong)
	}
	if err != nil {
		return err
	}
	p.report(r, accounts.Event{Kind: accounts.FactorAdded, User: v.user, Detail: "passkey " + passkeyName(r.PostForm.Get("name"))})
	redirect(w, p.pathTo("/security"))
	return nil
}

// maxPasskeyName is the maximum length of a passkey's name in characters.
const maxPasskeyName = 60

// passkeyName returns the name that a user typed for a passkey, without invisible characters.
func passkeyName(typed string) string {
	name := strings.Map(func(r rune) rune {
		if accounts.Invisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(accounts.NormalName(typed), ""))
	if name == "" {
		return "A passkey"
	}
	if utf8.RuneCountInString(name) > maxPasskeyName {
		name = string([]rune(name)[:maxPasskeyName])
	}
	return name
}
