package signin

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// deviceLifetime is how long a device's sign-in waits for its user.
	deviceLifetime = 10 * time.Minute
	// deviceMemory is how long it is known after that, to tell the device.
	deviceMemory = 10 * time.Minute
	// devicePause is the least time between two questions of a device, and
	// by how much it grows for one that asks earlier (RFC 8628 §3.5).
	devicePause = 5 * time.Second
)

// deviceLimits bound how many sign-ins an address may begin.
var deviceLimits = limits{free: 20, first: 10 * time.Second, longest: time.Minute, quiet: 15 * time.Minute}

// userCodeLimits keep people from trying others' codes: of 34 random bits, up to
// maxDevices of which are good at a time.
var userCodeLimits = limits{free: 10, first: 5 * time.Second, longest: time.Minute, quiet: 15 * time.Minute}

// deviceAnswer is what a device is told to show (RFC 8628 §3.2).
type deviceAnswer struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	URI        string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	Expires    int    `json:"expires_in"` // seconds
	Interval   int    `json:"interval"`   // seconds
}

// deviceAuthorization begins the sign-in of a device without a browser.
func (p *Provider) deviceAuthorization(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	if wait := p.devices.take(p.address(r)); wait > 0 {
		return 0, nil, tooMany(wait)
	}
	f, err := p.readClientForm(w, r)
	if err != nil {
		return 0, nil, err
	}
	c, err := p.client(r.Context(), f.Get("client_id"))
	if err != nil {
		return 0, nil, err
	}
	if !slices.Contains(c.Grants, grantDevice) {
		return 0, nil, refused("unauthorized_client", "the client did not register for the sign-in of devices")
	}
	audience, err := p.audienceFor(f.list("resource"))
	if err != nil {
		return 0, nil, err
	}
	key, err := p.accounts.sealKey(r.Context())
	if err != nil {
		return 0, nil, err
	}
	code, userCode := newSecret(), newUserCode()
	d := device{client: c.ID, audience: audience, scope: grantedScope(f.Get("scope")), origin: originOf(key, p.address(r))}
	added, err := p.accounts.addDevice(r.Context(), d, code, userCode, p.now())
	if err != nil {
		return 0, nil, err
	}
	if !added {
		return 0, nil, tooMany(time.Minute)
	}
	return http.StatusOK, deviceAnswer{
		DeviceCode: code, UserCode: userCode, URI: p.at("/device"),
		Complete: p.at("/device?" + url.Values{"user_code": {userCode}}.Encode()),
		Expires:  seconds(deviceLifetime), Interval: seconds(devicePause),
	}, nil
}

// byDeviceCode answers a device that asks whether its user has decided.
func (p *Provider) byDeviceCode(ctx context.Context, f params) (grant, string, error) {
	code := f.Get("device_code")
	if code == "" {
		return grant{}, "", refused("invalid_request", "device_code is missing")
	}
	now := p.now()
	d, found, err := p.accounts.askDevice(ctx, code, f.Get("client_id"), now)
	switch {
	case err != nil:
		return grant{}, "", err
	case !found:
		return grant{}, "", refused("invalid_grant", "the device code is not this client's, or was used")
	}
	if why := d.undecided(now); why != nil {
		return grant{}, "", why
	}
	c, err := p.client(ctx, d.client)
	if err != nil {
		return grant{}, "", err
	}
	g := grant{client: d.client, name: c.title(), user: d.user, audience: d.audience, scope: d.scope, authenticated: d.authenticated}
	if err := p.checkTarget(g, f); err != nil {
		return grant{}, "", err
	}
	refresh, err := p.accounts.redeemDevice(ctx, code, &g, now)
	if err == nil && refresh == "" {
		err = refused("invalid_grant", "the device code was used")
	}
	return g, refresh, err
}

// undecided returns why a device gets no tokens (RFC 8628 §3.5), or nil.
func (d device) undecided(now time.Time) *refusal {
	switch {
	case !now.Before(d.expires):
		return refused("expired_token", "the device code has expired")
	case d.early:
		return refused("slow_down", "the device asks too often")
	case d.decision == "":
		return refused("authorization_pending", "the user has not decided yet")
	case d.decision != "allow":
		return refused("access_denied", "the user did not allow it")
	}
	return nil
}

// deviceForm is what the page shows on which people name a device's code, and
// then, once that is found, decide.
type deviceForm struct {
	Code   string
	Client clientView // empty until the code is found
	Tools  bool
	Done   string // what was decided
}

// device shows the page to which devices send their users.
func (p *Provider) device(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return p.showLogin(w, v, loginForm{Next: step{"device", r.URL.RawQuery}}, "")
	}
	return p.showDevice(w, v, deviceForm{Code: r.URL.Query().Get("user_code")}, "")
}

func (p *Provider) showDevice(w http.ResponseWriter, v visitor, form deviceForm, wrong string) error {
	page := view{Title: "Connect a device", Problem: wrong, Content: form}
	if wrong != "" {
		page.status = http.StatusUnprocessableEntity
	}
	return p.show(w, v, "device.html", page)
}

// deviceCode takes a code and asks what is to be done about its device.
func (p *Provider) deviceCode(w http.ResponseWriter, r *http.Request, v visitor) error {
	form, _, err := p.findDevice(r, v)
	if err != nil {
		return p.wrongCode(w, v, form, err)
	}
	return p.showDevice(w, v, form, "")
}

// deviceDecision takes what the user has decided.
func (p *Provider) deviceDecision(w http.ResponseWriter, r *http.Request, v visitor) error {
	form, userCode, err := p.findDevice(r, v)
	if err != nil {
		return p.wrongCode(w, v, form, err)
	}
	decision, kind := "deny", ProgramDenied
	if r.PostForm.Get("decision") == "allow" {
		decision, kind = "allow", ProgramAllowed
	}
	done, err := p.accounts.decideDevice(r.Context(), userCode, decision, v, p.now())
	switch {
	case err != nil:
		return err
	case !done:
		return p.wrongCode(w, v, form, errUserCode)
	}
	p.logger.InfoContext(r.Context(), "decided on a device", "user", v.user, "client", form.Client.Title, "decision", decision)
	p.report(r, Event{Kind: kind, User: v.user, Client: form.Client.ID, Detail: "device"})
	form.Done = decision
	return p.showDevice(w, v, form, "")
}

// errUserCode is all that is told of a code that will not do.
var errUserCode = problemf(http.StatusUnprocessableEntity, "There is no such code, or it has expired. Look at the device once more.")

func (p *Provider) wrongCode(w http.ResponseWriter, v visitor, form deviceForm, err error) error {
	if err == errUserCode {
		return p.showDevice(w, v, deviceForm{Code: form.Code}, err.Error())
	}
	return err
}

// findDevice looks for the device whose code a form names.
func (p *Provider) findDevice(r *http.Request, v visitor) (form deviceForm, userCode string, err error) {
	form.Code = r.PostForm.Get("user_code")
	if !v.signedIn() {
		return form, "", errSessionEnded
	}
	for _, key := range []string{"user " + v.user, "address " + p.address(r)} {
		if wait := p.userCodes.take(key); wait > 0 {
			return form, "", &problem{status: http.StatusTooManyRequests, wait: wait, text: "There were too many tries. Wait for a minute and try again."}
		}
	}
	userCode = plainUserCode(form.Code)
	d, found, err := p.accounts.deviceOf(r.Context(), userCode, p.now())
	switch {
	case err != nil:
		return form, "", err
	case !found:
		return form, "", errUserCode
	}
	p.userCodes.giveBack("user " + v.user)
	p.userCodes.giveBack("address " + p.address(r))
	c, err := p.client(r.Context(), d.client)
	if err != nil {
		return form, "", err
	}
	form.Code, form.Client, form.Tools = userCode, viewOf(c, true), d.audience == p.issuer.tools
	return form, userCode, nil
}

// plainUserCode returns a code as devices show it, however it was typed.
func plainUserCode(typed string) string {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune(userCodeLetters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(typed))
	if len(letters) != userCodeLength {
		return ""
	}
	return letters[:userCodeLength/2] + "-" + letters[userCodeLength/2:]
}
