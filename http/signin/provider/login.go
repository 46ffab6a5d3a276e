package provider

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/provider/oauth"
	"annals/http/signin/provider/throttle"
	"annals/http/signin/queue"
)

// passwordLimits apply to each known browser of an account.
var passwordLimits = throttle.Limits{Free: 5, First: time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}

// addressLimits apply to each address, which many users may share.
var addressLimits = throttle.Limits{Free: 50, First: time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}

// loginForm is the content of the sign-in page.
type loginForm struct {
	Next   step
	Name   string // as it was typed
	Client string // to which the visitor is on the way; "" for none
	Proof  bool   // a proof of work is missing

	Passkey bool // in place of the password

	OtherIssuers []string // issuers whose people cannot sign in here, on the way to a document
}

// showLogin shows the sign-in page. formTargets is where its form may lead in the end. A
// browser without a cookie gets one, for the form token. Only this page and that of a password
// link set one: a request from another site comes without the existing cookie, which a new one
// would replace.
func (p *Provider) showLogin(w http.ResponseWriter, v visitor, form loginForm, leads string) error {
	if v.cookie == "" {
		v.cookie = accounts.NewSecret()
		p.setCookie(w, v.cookie)
	}
	return p.loginPage(w, v, form, leads, nil)
}

func (p *Provider) loginPage(w http.ResponseWriter, v visitor, form loginForm, leads string, wrong *problem) error {
	form.Passkey = p.passkeys != nil
	page := view{Title: "Sign in", Content: form, Scripts: []string{"login.js"}, formTargets: leads}
	if form.Passkey {
		page.Scripts = append(page.Scripts, "passkey.js")
	}
	page.Scripts = form.Next.scripts(page.Scripts...)
	return p.showWith(w, v, "login.html", page, wrong)
}

// login takes the form of the sign-in page.
func (p *Provider) login(w http.ResponseWriter, r *http.Request, v visitor) error {
	form := loginForm{Next: readStep(r.PostForm), Name: r.PostForm.Get("username")}
	var leads string
	form.Client, leads = p.destination(r, form.Next)
	if form.Next.Page == "document" {
		form.OtherIssuers = p.otherIssuers()
	}
	account, hash, err := p.authenticate(r, attempt{name: form.Name, password: r.PostForm.Get("password"), proof: r.PostForm.Get("proof")})
	if err == nil {
		err = p.afterPassword(w, r, v, account, hash, form.Next)
	}
	shown := problemOf(err)
	if shown == nil {
		return err
	}
	form.Proof = shown.proof
	return p.loginPage(w, v, form, leads, shown)
}

const wrongPassword = "The name or the password is wrong."

// attempt is an attempt to sign in by password.
type attempt struct {
	name, password string
	proof          string // of work
	signedIn       bool   // the browser is, as that user
}

func tooManyTries(wait time.Duration) error {
	return &problem{
		status: http.StatusTooManyRequests, wait: wait,
		text: fmt.Sprintf("There were too many tries. Try again in %d s.", oauth.Seconds(wait)),
	}
}

// authenticate checks a password within the limits on attempts. Its errors can be shown to the
// user.
func (p *Provider) authenticate(r *http.Request, t attempt) (accounts.Account, string, error) {
	account := accountName(t.name)
	caller, succeeded, err := p.admit(r, account, t)
	if err != nil {
		if shown := problemOf(err); shown != nil {
			p.report(r, accounts.Event{Kind: accounts.SignInRefused, Detail: shown.text})
		}
		return accounts.Account{}, "", err
	}
	found, hash, err := p.accounts.CheckPassword(r.Context(), caller, account, t.password)
	switch {
	case errors.Is(err, queue.ErrFull):
		succeeded() // nothing was tried
		return accounts.Account{}, "", &problem{
			status: http.StatusServiceUnavailable, wait: unavailableRetry, text: "Too many people sign in at this moment. Try again in a few seconds.",
		}
	case fault.Is(err, fault.Unauthenticated):
		// The log omits the name, since people type their password there by mistake.
		p.logger.InfoContext(r.Context(), "a sign-in was refused", "address", p.address(r))
		event := accounts.Event{Kind: accounts.SignInFailed, Detail: "password"}
		if hash != "" {
			event.User = account
		}
		p.report(r, event)
		return accounts.Account{}, "", problemf(http.StatusForbidden, wrongPassword)
	case err != nil:
		return accounts.Account{}, "", err
	}
	succeeded()
	return found, hash, nil
}

// admit decides whether an attempt is checked at all. The caller calls succeeded if the
// password was right.
func (p *Provider) admit(r *http.Request, account string, t attempt) (caller queue.Caller, succeeded func(), err error) {
	key := "session of " + account
	if !t.signedIn {
		browser, err := p.knownBrowser(r, account)
		if err != nil {
			return caller, nil, err
		}
		if browser == "" {
			return p.admitUnknown(r, account, t.proof)
		}
		key = "browser " + browser
	}
	if wait := p.passwords.Take(key); wait > 0 {
		return caller, nil, tooManyTries(wait)
	}
	return queue.Caller{Class: accounts.KnownCaller, Key: key}, func() { p.passwords.Reset(key) }, nil
}
