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

// passwordLimits limits the password attempts in each known browser.
var passwordLimits = throttle.Limits{Free: 5, First: time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}

// addressLimits limits the password attempts in unknown browsers from each address. Many users
// may share an address.
var addressLimits = throttle.Limits{Free: 50, First: time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}

// loginForm is the content of the sign-in page.
type loginForm struct {
	Next         step
	Name         string   // the name as the user typed it
	Client       string   // title of the client that the user signs in to; "" if there is none
	Proof        bool     // whether a proof of work is missing
	Passkey      bool     // whether passkeys are supported
	OtherIssuers []string // external issuers, whose users cannot open document links
}

// showLogin shows the sign-in page. formTargets are the origins to which the browser may be
// redirected after the form.
func (p *Provider) showLogin(w http.ResponseWriter, v visitor, form loginForm, formTargets string) error {
	return p.loginPage(w, p.ensureCookie(w, v), form, formTargets, nil)
}

// ensureCookie sets a session cookie if the browser has sent none, because form tokens are
// derived from that cookie. Call it only for pages, never for forms: with a form of another
// site the browser does not send its cookie, so the new cookie would replace the existing one.
func (p *Provider) ensureCookie(w http.ResponseWriter, v visitor) visitor {
	if v.cookie == "" {
		v.cookie = accounts.NewSecret()
		p.setCookie(w, v.cookie)
	}
	return v
}

func (p *Provider) loginPage(w http.ResponseWriter, v visitor, form loginForm, formTargets string, wrong *problem) error {
	form.Passkey = p.passkeys != nil
	page := view{Title: "Sign in", Content: form, Scripts: []string{"login.js"}, formTargets: formTargets}
	if form.Passkey {
		page.Scripts = append(page.Scripts, "passkey.js")
	}
	page.Scripts = form.Next.scripts(page.Scripts...)
	return p.showWith(w, v, "login.html", page, wrong)
}

// login handles the form of the sign-in page.
func (p *Provider) login(w http.ResponseWriter, r *http.Request, v visitor) error {
	form := loginForm{Next: readStep(r.PostForm), Name: r.PostForm.Get("username")}
	var formTargets string
	form.Client, formTargets = p.destination(r, form.Next)
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
	return p.loginPage(w, v, form, formTargets, shown)
}

const wrongPassword = "The name or the password is wrong."

// attempt is one attempt to sign in with a password.
type attempt struct {
	name, password string
	proof          string // proof of work; "" if none was sent
	signedIn       bool   // whether the user is already signed in and confirms a change with the password
}

func tooManyTries(wait time.Duration) error {
	return &problem{
		status: http.StatusTooManyRequests, wait: wait,
		text: fmt.Sprintf("There were too many attempts. Try again in %d s.", oauth.Seconds(wait)),
	}
}

// authenticate checks a password, unless the limits on attempts refuse it. It returns the
// account and its password hash.
func (p *Provider) authenticate(r *http.Request, t attempt) (accounts.Account, string, error) {
	account := accountName(t.name)
	caller, refund, err := p.admit(r, account, t)
	if err != nil {
		if shown := problemOf(err); shown != nil {
			p.report(r, accounts.Event{Kind: accounts.SignInRefused, Detail: shown.text})
		}
		return accounts.Account{}, "", err
	}
	found, hash, err := p.accounts.CheckPassword(r.Context(), caller, account, t.password)
	switch {
	case errors.Is(err, queue.ErrFull):
		refund() // the password was not checked, so the attempt does not count
		return accounts.Account{}, "", &problem{
			status: http.StatusServiceUnavailable, wait: unavailableRetry, text: "Too many people are signing in at the moment. Try again in a few seconds.",
		}
	case fault.Is(err, fault.Unauthenticated):
		// The log message omits the name, because people sometimes type their password in its
		// field.
		p.logger.InfoContext(r.Context(), "a sign-in with a wrong name or password was refused", "address", p.Address(r))
		event := accounts.Event{Kind: accounts.SignInFailed, Detail: "password"}
		if hash != "" {
			event.User = account
		}
		p.report(r, event)
		return accounts.Account{}, "", problemf(http.StatusForbidden, wrongPassword)
	case err != nil:
		return accounts.Account{}, "", err
	}
	refund()
	return found, hash, nil
}

// admit reports whether the limits allow an attempt, by returning the place in the queue of
// password checks or an error. It counts the attempt as failed. If the password was right or
// was not checked, the caller must call refund.
func (p *Provider) admit(r *http.Request, account string, t attempt) (caller queue.Caller, refund func(), err error) {
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
