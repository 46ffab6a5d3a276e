package signin

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"annals/http/signin/otp"
)

// codeLimits bound tries at one-time codes, of which three of a million are right at
// a time. Only who knows the password comes so far.
var codeLimits = limits{free: 5, first: time.Second, longest: time.Minute, quiet: 15 * time.Minute}

// ticketLifetime is how long a sign-in may take between its steps.
const ticketLifetime = 10 * time.Minute

// ticket is what a browser carries from one step of a sign-in to the next: that it
// gave the password. It counts in that browser, and until the password is changed.
type ticket struct {
	User     string `json:"user"`
	Password []byte `json:"password"` // digest of the hash
	Browser  []byte `json:"browser"`  // digest of the cookie
	Next     step   `json:"next"`
	// Of a page on which one-time codes are set up.
	Secret   string `json:"secret,omitempty"`
	URL      string `json:"url,omitempty"`
	SignedIn bool   `json:"signedIn,omitempty"`
}

const ticketPurpose = "ticket"

func newTicket(v visitor, user, hash string, next step) ticket {
	return ticket{User: user, Password: digest(hash), Browser: digest(v.cookie), Next: next}
}

func (p *Provider) sealTicket(ctx context.Context, t ticket) (string, error) {
	key, err := p.accounts.sealKey(ctx)
	if err != nil {
		return "", err
	}
	return key.Seal(ticketPurpose, t, p.now().Add(ticketLifetime))
}

var errTicket = problemf(http.StatusForbidden, "This sign-in took too long, or was begun in another browser. Start again.")

// openTicket returns a ticket that counts, with the password's hash.
func (p *Provider) openTicket(ctx context.Context, v visitor, text string) (t ticket, hash string, err error) {
	key, err := p.accounts.sealKey(ctx)
	if err != nil {
		return t, "", err
	}
	if _, err := key.Open(ticketPurpose, text, &t, p.now()); err != nil || !bytes.Equal(t.Browser, digest(v.cookie)) {
		return t, "", errTicket
	}
	if hash, err = p.accounts.passwordOf(ctx, t.User); err != nil {
		return t, "", err
	}
	if hash == "" || !bytes.Equal(t.Password, digest(hash)) {
		return t, "", errTicket
	}
	return t, hash, nil
}

// enter goes on after the right password: to the second factor where the user has
// one, to setting one up where it is required, or else into a session.
func (p *Provider) enter(w http.ResponseWriter, r *http.Request, v visitor, account Account, hash string, next step) error {
	f, err := p.accounts.Factors(r.Context(), account.Name)
	if err != nil {
		return err
	}
	required := f.Required || p.requireFactor
	t := newTicket(v, account.Name, hash, next)
	switch {
	case f.Codes || required && f.any():
		return p.showSecond(w, r, v, t, f, nil)
	case required:
		return p.showSetup(w, r, v, t, nil)
	}
	return p.admitted(w, r, v, account.Name, hash, next, "password")
}

// admitted begins the session of a user who has proved who he is, and sends the
// browser on.
func (p *Provider) admitted(w http.ResponseWriter, r *http.Request, v visitor, user, hash string, next step, by string) error {
	done, err := p.signIn(w, r, v, Account{Name: user}, hash, by)
	if err != nil {
		return err
	}
	if !done { // it was changed at this moment
		return problemf(http.StatusForbidden, wrongPassword)
	}
	p.goOn(w, next)
	return nil
}

// secondForm is what the page of the second factor shows.
type secondForm struct {
	Ticket  string
	Next    step
	Codes   bool
	Passkey bool
}

func (p *Provider) showSecond(w http.ResponseWriter, r *http.Request, v visitor, t ticket, f Factors, wrong *problem) error {
	sealed, err := p.sealTicket(r.Context(), t)
	if err != nil {
		return err
	}
	_, leads := p.leads(r, t.Next)
	page := view{
		Title: "Second factor", leads: leads,
		Content: secondForm{Ticket: sealed, Next: t.Next, Codes: f.Codes, Passkey: f.Passkeys > 0 && p.passkeys != nil},
	}
	if f.Passkeys > 0 && p.passkeys != nil {
		page.Scripts = []string{"passkey.js"}
	}
	page.Scripts = t.Next.scripts(page.Scripts...)
	return p.showWith(w, v, "second.html", page, wrong)
}

// showWith shows a page with what was wrong, if anything was.
func (p *Provider) showWith(w http.ResponseWriter, v visitor, name string, page view, wrong *problem) error {
	if wrong != nil {
		page.Problem, page.status = wrong.text, wrong.status
		(&refusal{wait: wrong.wait}).head(w)
	}
	return p.show(w, v, name, page)
}

// leads returns the name of the program to which a step goes on, and where the pages
// on the way there may lead.
func (p *Provider) leads(r *http.Request, next step) (client, target string) {
	if next.Page != "authorize" {
		return "", ""
	}
	a, err := p.readAuthorization(r, next.Query)
	if err != nil {
		return "", ""
	}
	return a.client.title(), formTarget(a.redirect)
}

var errCode = &problem{status: http.StatusForbidden, text: "This code is wrong, or was used. Codes are good for about a minute; the device's clock has to be right."}

// second takes the code of the second factor.
func (p *Provider) second(w http.ResponseWriter, r *http.Request, v visitor) error {
	t, hash, err := p.openTicket(r.Context(), v, r.PostForm.Get("ticket"))
	if err != nil {
		return err
	}
	by, err := p.judgeCode(r, t.User, r.PostForm.Get("code"))
	if err == nil {
		return p.admitted(w, r, v, t.User, hash, t.Next, by)
	}
	wrong := problemOf(err)
	if wrong == nil {
		return err
	}
	f, err := p.accounts.Factors(r.Context(), t.User)
	if err != nil {
		return err
	}
	return p.showSecond(w, r, v, t, f, wrong)
}

// judgeCode takes a one-time code or a recovery code of a user, and returns by what
// the user signs in.
func (p *Provider) judgeCode(r *http.Request, user, code string) (by string, err error) {
	key := "user " + user
	if browser, err := p.knownBrowser(r, user); err != nil {
		return "", err
	} else if browser != "" {
		key = "browser " + browser
	}
	if wait := p.codes.take(key); wait > 0 {
		p.report(r, Event{Kind: SignInRefused, User: user, Detail: "too many codes"})
		return "", tooManyTries(wait)
	}
	ok, recovery, err := p.accounts.takeCode(r.Context(), user, code, p.now())
	switch {
	case err != nil:
		return "", err
	case !ok:
		p.logger.InfoContext(r.Context(), "a second factor was refused", "user", user, "address", p.address(r))
		p.report(r, Event{Kind: SignInFailed, User: user, Detail: "code"})
		return "", errCode
	}
	p.codes.forget(key)
	if recovery {
		p.report(r, Event{Kind: RecoveryUsed, User: user})
		return "password and recovery code", nil
	}
	return "password and code", nil
}

// setupForm is what the page shows on which one-time codes are set up.
type setupForm struct {
	Ticket   string
	Secret   string // in groups
	QR       otp.QR
	Required bool
}

// showSetup shows a new secret, or again the ticket's.
func (p *Provider) showSetup(w http.ResponseWriter, r *http.Request, v visitor, t ticket, wrong *problem) error {
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
	_, leads := p.leads(r, t.Next)
	return p.showWith(w, v, "setup.html", view{
		Title: "One-time codes", leads: leads, Scripts: t.Next.scripts(),
		Content: setupForm{Ticket: sealed, Secret: inGroups(t.Secret), QR: code, Required: !t.SignedIn},
	}, wrong)
}

func inGroups(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}

// setup takes the first code of a new secret, and switches codes on.
func (p *Provider) setup(w http.ResponseWriter, r *http.Request, v visitor) error {
	t, hash, err := p.openTicket(r.Context(), v, r.PostForm.Get("ticket"))
	if err != nil {
		return err
	}
	if t.Secret == "" || t.SignedIn && v.user != t.User {
		return errTicket
	}
	if !t.SignedIn { // somebody may have set a factor up since, which is to be asked for
		if f, err := p.accounts.Factors(r.Context(), t.User); err != nil {
			return err
		} else if f.any() {
			return errTicket
		}
	}
	step, ok := otp.Step(t.Secret, r.PostForm.Get("code"), p.now())
	if !ok {
		return p.showSetup(w, r, v, t, errCode)
	}
	codes, done, err := p.accounts.setSecret(r.Context(), t.User, t.Secret, step)
	switch {
	case err != nil:
		return err
	case !done:
		return errTicket
	}
	p.report(r, Event{Kind: FactorAdded, User: t.User, Detail: "totp"})
	if !t.SignedIn {
		signedIn, err := p.signIn(w, r, v, Account{Name: t.User}, hash, "password and code")
		if err != nil {
			return err
		}
		if !signedIn {
			return errTicket
		}
	}
	return p.showRecovery(w, v, codes, t.Next)
}

// recoveryView is what the page of recovery codes shows, once.
type recoveryView struct {
	Codes []string
	Next  string
}

func (p *Provider) showRecovery(w http.ResponseWriter, v visitor, codes []string, next step) error {
	return p.show(w, v, "recovery.html", view{Title: "Recovery codes", Scripts: next.scripts(), Content: recoveryView{codes, p.where(next)}})
}
