package signin

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"annals/events/fault"
	"annals/http/signin/queue"
)

// passwordLimits hold for each browser that is known to an account.
var passwordLimits = limits{free: 5, first: time.Second, longest: time.Minute, quiet: 15 * time.Minute}

// addressLimits hold for one address, behind which many may sit.
var addressLimits = limits{free: 50, first: time.Second, longest: time.Minute, quiet: 15 * time.Minute}

// loginForm is what the sign-in page shows.
type loginForm struct {
	Next   step
	Name   string // as it was typed
	Client string // to which the visitor is on the way; "" for none
	Proof  bool   // a proof of work is missing

	Passkey bool // in place of the password

	Elsewhere []string // issuers whose people cannot sign in here, on the way to a document
}

// showLogin shows the sign-in page, which leads to next. leads is where that
// leads in turn. A visitor without a cookie gets one, for the form. No page but this
// and that of a link gives one: what another site sends comes without the cookie that
// there is, which a new one would replace.
func (p *Provider) showLogin(w http.ResponseWriter, v visitor, form loginForm, leads string) error {
	if v.cookie == "" {
		v.cookie = newSecret()
		p.setCookie(w, v.cookie)
	}
	return p.loginPage(w, v, form, leads, nil)
}

func (p *Provider) loginPage(w http.ResponseWriter, v visitor, form loginForm, leads string, wrong *problem) error {
	form.Passkey = p.passkeys != nil
	page := view{Title: "Sign in", Content: form, Scripts: []string{"login.js"}, leads: leads}
	if form.Passkey {
		page.Scripts = append(page.Scripts, "passkey.js")
	}
	page.Scripts = form.Next.scripts(page.Scripts...)
	return p.showWith(w, v, "login.html", page, wrong)
}

// login takes the sign-in page's form.
func (p *Provider) login(w http.ResponseWriter, r *http.Request, v visitor) error {
	form := loginForm{Next: readStep(r.PostForm), Name: r.PostForm.Get("username")}
	var leads string
	form.Client, leads = p.leads(r, form.Next)
	if form.Next.Page == "document" {
		form.Elsewhere = p.elsewhere()
	}
	account, hash, err := p.authenticate(r, try{name: form.Name, password: r.PostForm.Get("password"), proof: r.PostForm.Get("proof")})
	if err == nil {
		err = p.enter(w, r, v, account, hash, form.Next)
	}
	shown := problemOf(err)
	if shown == nil {
		return err
	}
	form.Proof = shown.proof
	return p.loginPage(w, v, form, leads, shown)
}

const wrongPassword = "The name or the password is wrong."

// try is one at a password.
type try struct {
	name, password string
	proof          string // of work
	signedIn       bool   // the browser is, as that user
}

func tooManyTries(wait time.Duration) error {
	return &problem{
		status: http.StatusTooManyRequests, wait: wait,
		text: fmt.Sprintf("There were too many tries. Try again in %d s.", seconds(wait)),
	}
}

// authenticate is Accounts.authenticate for someone who may not try too often.
// Its errors can be shown.
func (p *Provider) authenticate(r *http.Request, t try) (Account, string, error) {
	account := accountName(t.name)
	turn, succeeded, err := p.admit(r, account, t)
	if err != nil {
		if shown := problemOf(err); shown != nil {
			p.report(r, Event{Kind: SignInRefused, Detail: shown.text})
		}
		return Account{}, "", err
	}
	found, hash, err := p.accounts.authenticate(r.Context(), turn, account, t.password)
	switch {
	case errors.Is(err, queue.ErrFull):
		succeeded() // nothing was tried
		return Account{}, "", &problem{
			status: http.StatusServiceUnavailable, wait: awayPause, text: "Too many people sign in at this moment. Try again in a few seconds.",
		}
	case fault.Is(err, fault.Unauthenticated):
		// Without the name: people type their password there by mistake.
		p.logger.InfoContext(r.Context(), "a sign-in was refused", "address", p.address(r))
		event := Event{Kind: SignInFailed, Detail: "password"}
		if hash != "" {
			event.User = account
		}
		p.report(r, event)
		return Account{}, "", problemf(http.StatusForbidden, wrongPassword)
	case err != nil:
		return Account{}, "", err
	}
	succeeded()
	return found, hash, nil
}

// admit decides whether a try is judged at all. succeeded is for one that was
// right.
func (p *Provider) admit(r *http.Request, account string, t try) (turn queue.Turn, succeeded func(), err error) {
	key := "session of " + account
	if !t.signedIn {
		browser, err := p.knownBrowser(r, account)
		if err != nil {
			return turn, nil, err
		}
		if browser == "" {
			return p.stranger(r, account, t.proof)
		}
		key = "browser " + browser
	}
	if wait := p.passwords.take(key); wait > 0 {
		return turn, nil, tooManyTries(wait)
	}
	return queue.Turn{Class: turnKnown, Key: key}, func() { p.passwords.forget(key) }, nil
}
