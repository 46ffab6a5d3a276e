package signin

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"annals/http/signin/passkey"
)

// maxPasskeyName bounds what a user calls a passkey, in characters.
const maxPasskeyName = 60

const ceremonyPurpose = "ceremony"

// ceremony is a question for a passkey, in the browser that is to answer it.
type ceremony struct {
	Browser  []byte           `json:"browser"`
	User     string           `json:"user,omitempty"` // whose new passkey it is to be
	Question passkey.Ceremony `json:"question"`
}

// question is what the pages' script gets.
type question struct {
	Ceremony string `json:"ceremony,omitempty"`
	Options  any    `json:"options,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

func (p *Provider) ask(w http.ResponseWriter, r *http.Request, v visitor, user string, options any, c *passkey.Ceremony) error {
	key, err := p.accounts.sealKey(r.Context())
	if err != nil {
		return err
	}
	text, err := key.Seal(ceremonyPurpose, ceremony{digest(v.cookie), user, *c}, p.now().Add(ticketLifetime))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, question{Ceremony: text, Options: options})
	return nil
}

var errPasskey = problemf(http.StatusForbidden, "The passkey was refused. Perhaps it was removed here, or the page was open for too long: load it again.")

// openCeremony returns a question that was asked of this browser, once.
func (p *Provider) openCeremony(r *http.Request, v visitor) (c ceremony, err error) {
	key, err := p.accounts.sealKey(r.Context())
	if err != nil {
		return c, err
	}
	sealed, err := key.Open(ceremonyPurpose, r.PostForm.Get("ceremony"), &c, p.now())
	if err != nil || string(c.Browser) != string(digest(v.cookie)) {
		return c, errPasskey
	}
	first, err := p.accounts.spend(r.Context(), sealed)
	if err == nil && !first {
		err = errPasskey
	}
	return c, err
}

// askPasskey asks the browser for any passkey, in place of a password.
func (p *Provider) askPasskey(w http.ResponseWriter, r *http.Request, v visitor) error {
	if p.passkeys == nil {
		return errPasskey
	}
	options, c, err := p.passkeys.Ask()
	if err != nil {
		return err
	}
	return p.ask(w, r, v, "", options, c)
}

// byPasskey signs a user in by a passkey, which is all that it takes.
func (p *Provider) byPasskey(w http.ResponseWriter, r *http.Request, v visitor) error {
	if p.passkeys == nil {
		return errPasskey
	}
	address := p.address(r)
	if wait := p.addresses.take(address); wait > 0 {
		return tooManyTries(wait)
	}
	c, err := p.openCeremony(r, v)
	if err == nil && c.User != "" {
		err = errPasskey
	}
	if err != nil {
		return err
	}
	var user, hash string
	used, err := p.passkeys.Answered(c.Question, []byte(r.PostForm.Get("credential")), func(handle []byte) (_ passkey.User, err error) {
		if user, hash, err = p.accounts.byHandle(r.Context(), handle); err != nil {
			return passkey.User{}, err
		}
		if user == "" {
			return passkey.User{}, passkey.ErrRefused
		}
		return p.accounts.passkeyUser(r.Context(), user, handle)
	})
	if err == nil {
		var there bool
		if there, err = p.accounts.usePasskey(r.Context(), user, used, p.now()); err == nil && !there {
			err = passkey.ErrRefused
		}
	}
	if errors.Is(err, passkey.ErrRefused) {
		p.logger.InfoContext(r.Context(), "a passkey was refused", "address", address, "error", err)
		p.report(r, Event{Kind: SignInFailed, User: user, Detail: "passkey"})
		return errPasskey
	}
	if err != nil {
		return err
	}
	p.addresses.giveBack(address)
	return p.admitted(w, r, v, user, hash, readStep(r.PostForm), "passkey")
}

// passkeyView is a passkey as its user sees it.
type passkeyView struct{ ID, Name, Since, Used string }

// securityView is what the page shows on which users look after their factors.
type securityView struct {
	Factors
	Required   bool
	Keys       []passkeyView
	NoPasskeys string // why there can be none
}

// security shows a user what his sign-in takes.
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
	stored, err := p.accounts.passkeys(r.Context(), v.user)
	if err != nil {
		return err
	}
	content := securityView{Factors: f, Required: f.Required || p.requireFactor}
	const day = "2 January 2006"
	for _, k := range stored {
		shown := passkeyView{base64.RawURLEncoding.EncodeToString(k.ID), k.name, k.created.Format(day), "never"}
		if k.used.UnixMicro() > 0 {
			shown.Used = k.used.Format(day)
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

// changeSecurity takes a change of factors, each of which takes the password: a
// browser that somebody left open is not enough.
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
		writeJSON(w, http.StatusOK, question{Problem: wrong.text})
		return nil
	}
	return p.showSecurity(w, r, v, wrong)
}

func (p *Provider) changeFactor(w http.ResponseWriter, r *http.Request, v visitor, what, argument string) error {
	_, hash, err := p.authenticate(r, try{name: v.user, password: r.PostForm.Get("password"), signedIn: true})
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
		return p.showSetup(w, r, v, t, nil)
	case "no-codes":
		if !f.Codes {
			break
		}
		if err := p.accounts.removeSecret(r.Context(), v.user, p.requireFactor); err != nil {
			return lastFactor(err)
		}
		p.report(r, Event{Kind: FactorRemoved, User: v.user, Detail: "totp"})
	case "recovery":
		if !f.any() {
			break
		}
		codes, err := p.accounts.newRecovery(r.Context(), v.user)
		if err != nil {
			return err
		}
		p.report(r, Event{Kind: FactorAdded, User: v.user, Detail: "recovery codes"})
		return p.showRecovery(w, v, codes, step{Page: "security"})
	case "passkey":
		return p.askNewPasskey(w, r, v)
	case "no-passkey":
		id, err := base64.RawURLEncoding.DecodeString(argument)
		if err != nil {
			break
		}
		name, err := p.accounts.removePasskey(r.Context(), v.user, id, p.requireFactor)
		if err != nil {
			return lastFactor(err)
		}
		if name != "" {
			p.report(r, Event{Kind: FactorRemoved, User: v.user, Detail: "passkey " + name})
		}
	}
	redirect(w, p.here("/security"))
	return nil
}

// lastFactor returns errLastFactor as it is shown, and any other error as it is.
func lastFactor(err error) error {
	if errors.Is(err, errLastFactor) {
		return &problem{status: http.StatusUnprocessableEntity, text: "A second factor is required of you, and this is the last: set up another first."}
	}
	return err
}

// askNewPasskey asks the browser for a new passkey of its user.
func (p *Provider) askNewPasskey(w http.ResponseWriter, r *http.Request, v visitor) error {
	if p.passkeys == nil {
		return &problem{status: http.StatusUnprocessableEntity, text: p.noPasskeys}
	}
	user, err := p.passkeyUser(r, v)
	if err != nil {
		return err
	}
	options, c, err := p.passkeys.Create(user)
	if err != nil {
		return err
	}
	return p.ask(w, r, v, v.user, options, c)
}

func (p *Provider) passkeyUser(r *http.Request, v visitor) (passkey.User, error) {
	handle, err := p.accounts.handle(r.Context(), v.user)
	if err != nil {
		return passkey.User{}, err
	}
	return p.accounts.passkeyUser(r.Context(), v.user, handle)
}

// addPasskey takes the passkey that the browser has made. The password was given
// when it was asked for.
func (p *Provider) addPasskey(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return errSessionEnded
	}
	if p.passkeys == nil {
		return errPasskey
	}
	c, err := p.openCeremony(r, v)
	if err == nil && c.User != v.user {
		err = errPasskey
	}
	if err != nil {
		return err
	}
	user, err := p.passkeyUser(r, v)
	if err != nil {
		return err
	}
	made, err := p.passkeys.Created(user, c.Question, []byte(r.PostForm.Get("credential")))
	if err == nil {
		err = p.accounts.addPasskey(r.Context(), v.user, passkeyName(r.PostForm.Get("name")), made, p.now())
	}
	if errors.Is(err, passkey.ErrRefused) {
		p.logger.InfoContext(r.Context(), "a new passkey was refused", "user", v.user, "error", err)
		err = errPasskey
	}
	if wrong := problemOf(err); wrong != nil {
		return p.showSecurity(w, r, v, wrong)
	}
	if err != nil {
		return err
	}
	p.report(r, Event{Kind: FactorAdded, User: v.user, Detail: "passkey " + passkeyName(r.PostForm.Get("name"))})
	redirect(w, p.here("/security"))
	return nil
}

// passkeyName returns what a user calls a passkey, as it is shown.
func passkeyName(typed string) string {
	name := strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(normal(typed), ""))
	if name == "" {
		return "A passkey"
	}
	if utf8.RuneCountInString(name) > maxPasskeyName {
		name = string([]rune(name)[:maxPasskeyName])
	}
	return name
}
