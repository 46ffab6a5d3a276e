package signin

import (
	"fmt"
	"net/http"
	"time"

	"annals/events/fault"
)

// passwordLimits hold for an account, whoever tries, and for each browser that is
// known to it: so whoever keeps on guessing at a name gets a try a minute, and
// does not keep its owner out.
var passwordLimits = limits{free: 5, first: time.Second, longest: time.Minute, quiet: 15 * time.Minute}

// addressLimits hold for one address, behind which many may sit.
var addressLimits = limits{free: 50, first: time.Second, longest: time.Minute, quiet: 15 * time.Minute}

// loginForm is what the sign-in page shows.
type loginForm struct {
	Next   step
	Name   string // as it was typed
	Client string // to which the visitor is on the way; "" for none
}

// showLogin shows the sign-in page, which leads to next. leads is where that
// leads in turn. A visitor without a cookie gets one, for the form. No other page
// gives one: what another site sends comes without the cookie that there is, which a
// new one would replace.
func (p *Provider) showLogin(w http.ResponseWriter, v visitor, form loginForm, leads string) error {
	if v.cookie == "" {
		v.cookie = newSecret()
		p.setCookie(w, v.cookie)
	}
	return p.show(w, v, "login.html", view{Title: "Sign in", Content: form, leads: leads})
}

// login takes the sign-in page's form.
func (p *Provider) login(w http.ResponseWriter, r *http.Request, v visitor) error {
	form := loginForm{Next: readStep(r.PostForm), Name: r.PostForm.Get("username")}
	leads := ""
	if form.Next.Page == "authorize" {
		if a, err := p.readAuthorization(r, form.Next.Query); err == nil {
			form.Client, leads = a.client.title(), formTarget(a.redirect)
		}
	}
	account, hash, err := p.authenticate(r, form.Name, r.PostForm.Get("password"))
	if err == nil {
		var done bool
		if done, err = p.signIn(w, r, v, account, hash); done {
			p.goOn(w, form.Next)
			return nil
		}
		if err == nil { // it was changed at this moment
			err = problemf(http.StatusForbidden, wrongPassword)
		}
	}
	shown := problemOf(err)
	if shown == nil {
		return err
	}
	(&refusal{wait: shown.wait}).head(w)
	return p.show(w, v, "login.html", view{Title: "Sign in", Problem: shown.text, Content: form, status: shown.status, leads: leads})
}

const wrongPassword = "The name or the password is wrong."

// authenticate is Accounts.authenticate for someone who may not try too often.
// Its errors can be shown.
func (p *Provider) authenticate(r *http.Request, name, password string) (Account, string, error) {
	account := normal(name)
	if len(account) > maxNameBytes {
		account = "" // nobody's
	}
	browser, err := p.knownBrowser(r, account)
	if err != nil {
		return Account{}, "", err
	}
	key, wait := "browser "+browser, time.Duration(0)
	if browser == "" {
		key, wait = "account "+account, p.addresses.take(p.address(r))
	}
	if wait == 0 {
		wait = p.passwords.take(key)
	}
	if wait > 0 {
		p.report(r, Event{Kind: SignInRefused, Detail: "too many tries"})
		return Account{}, "", &problem{
			status: http.StatusTooManyRequests, wait: wait,
			text: fmt.Sprintf("There were too many tries. Try again in %d s.", seconds(wait)),
		}
	}
	found, hash, err := p.accounts.authenticate(r.Context(), account, password)
	switch {
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
	p.passwords.forget(key)
	if browser == "" {
		p.addresses.giveBack(p.address(r))
	}
	return found, hash, nil
}
