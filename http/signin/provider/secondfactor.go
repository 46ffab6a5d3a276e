package provider

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/otp"
	"annals/http/signin/provider/throttle"
)

// codeLimits limits wrong one-time codes: somebody who knows the password could guess them,
// because three of a million codes are valid at a time.
var codeLimits = throttle.Limits{Free: 5, First: time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}

// ticketLifetime is the maximum time between two steps of a sign-in.
const ticketLifetime = 10 * time.Minute

// ticket proves to the second step of a sign-in that the password was right. The browser keeps
// it as a sealed text. It is valid only in the same browser, and only until the password
// changes.
type ticket struct {
	User     string `json:"user"`
	Password []byte `json:"password"` // digest of the password hash
	Browser  []byte `json:"browser"`  // digest of the cookie
	Next     step   `json:"next"`
	// Secret, URL and SignedIn are set only in a ticket for setting up one-time codes.
	Secret   string `json:"secret,omitempty"`
	URL      string `json:"url,omitempty"`
	SignedIn bool   `json:"signedIn,omitempty"`
}

const ticketPurpose = "ticket"

func newTicket(v visitor, user, hash string, next step) ticket {
	return ticket{User: user, Password: accounts.Digest(hash), Browser: accounts.Digest(v.cookie), Next: next}
}

func (p *Provider) sealTicket(ctx context.Context, t ticket) (string, error) {
	return p.accounts.Seal(ctx, ticketPurpose, t, p.now().Add(ticketLifetime))
}

var errTicketInvalid = problemf(http.StatusForbidden, "This sign-in took too long, or was started in another browser. Sign in again.")

// openTicket unseals a ticket and checks that it is valid. It also returns the user's password
// hash.
func (p *Provider) openTicket(ctx context.Context, v visitor, text string) (t ticket, hash string, err error) {
	_, valid, err := p.accounts.Unseal(ctx, ticketPurpose, text, &t, p.now())
	if err != nil {
		return t, "", err
	}
	if !valid || !bytes.Equal(t.Browser, accounts.Digest(v.cookie)) {
		return t, "", errTicketInvalid
	}
	if hash, err = p.accounts.PasswordHash(ctx, t.User); err != nil {
		return t, "", err
	}
	if hash == "" || !bytes.Equal(t.Password, accounts.Digest(hash)) {
		return t, "", errTicketInvalid
	}
	return t, hash, nil
}

// afterPassword continues a sign-in after the password was right. If the user has a second
// factor, it shows the page that requests it. If the user has none but must have one, it shows
// the page that sets up one-time codes. Otherwise it starts a session.
func (p *Provider) afterPassword(w http.ResponseWriter, r *http.Request, v visitor, account accounts.Account, hash string, next step) error {
	f, err := p.accounts.Factors(r.Context(), account.Name)
	if err != nil {
		return err
	}
	required := f.Required || p.requireFactor
	t := newTicket(v, account.Name, hash, next)
	switch {
	case f.Codes || required && f.Any():
		return p.showCodeForm(w, r, v, t, f, nil)
	case required:
		return p.showCodeSetup(w, r, v, t, nil)
	}
	return p.startSession(w, r, v, account.Name, hash, next, "password")
}

// startSession starts a session for a user who has passed all steps of the sign-in, and
// redirects the browser to next. by is the name of the sign-in method for the log.
func (p *Provider) startSession(w http.ResponseWriter, r *http.Request, v visitor, user, hash string, next step, by string) error {
	done, err := p.signIn(w, r, v, accounts.Account{Name: user}, hash, by)
	if err != nil {
		return err
	}
	if !done { // the password was changed during the sign-in
		return problemf(http.StatusForbidden, wrongPassword)
	}
	p.redirectToStep(w, next)
	return nil
}

// codeForm is the content of the page that requests the second factor.
type codeForm struct {
	Ticket  string
	Next    step
	Codes   bool
	Passkey bool
}

func (p *Provider) showCodeForm(w http.ResponseWriter, r *http.Request, v visitor, t ticket, f accounts.Factors, wrong *problem) error {
	sealed, err := p.sealTicket(r.Context(), t)
	if err != nil {
		return err
	}
	_, formTargets := p.destination(r, t.Next)
	page := view{
		Title: "Second factor", formTargets: formTargets,
		Content: codeForm{Ticket: sealed, Next: t.Next, Codes: f.Codes, Passkey: f.Passkeys > 0 && p.passkeys != nil},
	}
	if f.Passkeys > 0 && p.passkeys != nil {
		page.Scripts = []string{"passkey.js"}
	}
	page.Scripts = t.Next.scripts(page.Scripts...)
	return p.showWith(w, v, "second.html", page, wrong)
}

var errCodeWrong = &problem{status: http.StatusForbidden, text: "This code is wrong, or was used before. A code is valid for about a minute. Check the clock of the device that shows the codes."}

// submitCode handles the form with the second factor: a one-time code or a recovery code.
func (p *Provider) submitCode(w http.ResponseWriter, r *http.Request, v visitor) error {
	t, hash, err := p.openTicket(r.Context(), v, r.PostForm.Get("ticket"))
	if err != nil {
		return err
	}
	by, err := p.checkCode(r, t.User, r.PostForm.Get("code"))
	if err == nil {
		return p.startSession(w, r, v, t.User, hash, t.Next, by)
	}
	wrong := problemOf(err)
	if wrong == nil {
		return err
	}
	f, err := p.accounts.Factors(r.Context(), t.User)
	if err != nil {
		return err
	}
	return p.showCodeForm(w, r, v, t, f, wrong)
}

// checkCode checks a one-time code or a recovery code. It returns the name of the sign-in
// method for the log.
func (p *Provider) checkCode(r *http.Request, user, code string) (by string, err error) {
	key := "user " + user
	if browser, err := p.knownBrowser(r, user); err != nil {
		return "", err
	} else if browser != "" {
		key = "browser " + browser
	}
	if wait := p.codes.Take(key); wait > 0 {
		p.report(r, accounts.Event{Kind: accounts.SignInRefused, User: user, Detail: "too many codes"})
		return "", tooManyTries(wait)
	}
	ok, recovery, err := p.accounts.TakeCode(r.Context(), user, code, p.now())
	switch {
	case err != nil:
		return "", err
	case !ok:
		p.logger.InfoContext(r.Context(), "a wrong code of a second factor was refused", "user", user, "address", p.Address(r))
		p.report(r, accounts.Event{Kind: accounts.SignInFailed, User: user, Detail: "code"})
		return "", errCodeWrong
	}
	p.codes.Reset(key)
	if recovery {
		p.report(r, accounts.Event{Kind: accounts.RecoveryUsed, User: user})
		return "password and recovery code", nil
	}
	return "password and code", nil
}

// codeSetupForm is the content of the page that sets up one-time codes.
type codeSetupForm struct {
	Ticket   string
	Secret   string // in groups of four characters
	QR       otp.QR
	Required bool
}

// showCodeSetup shows the secret in the ticket, which the user adds to an authenticator app.
// If the ticket contains no secret yet, it creates one.
func (p *Provider) showCodeSetup(w http.ResponseWriter, r *http.Request, v visitor, t ticket, wrong *problem) error {
	if t.Secret == "" {
		secret, err := otp.New("Annals at "+p.host, t.User)
		if err != nil {
			return err
		}
		t.Secret, t.URL = secret.Text, secret.URL
	}
	code, err := otp.Draw(t.URL)
	if err != nil {
		return err
	}
	sealed, err := p.sealTicket(r.Context(), t)
	if err != nil {
		return err
	}
	_, formTargets := p.destination(r, t.Next)
	return p.showWith(w, v, "setup.html", view{
		Title: "One-time codes", formTargets: formTargets, Scripts: t.Next.scripts(),
		Content: codeSetupForm{Ticket: sealed, Secret: inGroups(t.Secret), QR: code, Required: !t.SignedIn},
	}, wrong)
}

func inGroups(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}

// setUpCodes checks the first code that the app computed from a new secret, and enables
// one-time codes.
func (p *Provider) setUpCodes(w http.ResponseWriter, r *http.Request, v visitor) error {
	t, hash, err := p.openTicket(r.Context(), v, r.PostForm.Get("ticket"))
	if err != nil {
		return err
	}
	if t.Secret == "" || t.SignedIn && v.user != t.User {
		return errTicketInvalid
	}
	if !t.SignedIn { // if a factor was set up meanwhile, this sign-in must require it
		if f, err := p.accounts.Factors(r.Context(), t.User); err != nil {
			return err
		} else if f.Any() {
			return errTicketInvalid
		}
	}
	step, ok := otp.Step(t.Secret, r.PostForm.Get("code"), p.now())
	if !ok {
		return p.showCodeSetup(w, r, v, t, errCodeWrong)
	}
	codes, done, err := p.accounts.EnableCodes(r.Context(), t.User, t.Secret, step)
	switch {
	case err != nil:
		return err
	case !done:
		return errTicketInvalid
	}
	p.report(r, accounts.Event{Kind: accounts.FactorAdded, User: t.User, Detail: "totp"})
	if !t.SignedIn {
		signedIn, err := p.signIn(w, r, v, accounts.Account{Name: t.User}, hash, "password and code")
		if err != nil {
			return err
		}
		if !signedIn {
			return errTicketInvalid
		}
	}
	return p.showRecovery(w, v, codes, t.Next)
}

// recoveryView is the content of the page that shows new recovery codes.
type recoveryView struct {
	Codes []string
	Next  string // path of the page that follows
}

func (p *Provider) showRecovery(w http.ResponseWriter, v visitor, codes []string, next step) error {
	return p.show(w, v, "recovery.html", view{Title: "Recovery codes", Scripts: next.scripts(), Content: recoveryView{codes, p.stepPath(next)}})
}
