package provider

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/provider/oauth"
	"annals/http/signin/provider/throttle"
)

// deviceLimits limits the device sign-ins that an address may start.
var deviceLimits = throttle.Limits{Free: 20, First: 10 * time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}

// userCodeLimits limits wrong user codes. A user code has 34 random bits, and up to
// accounts.MaxDevices user codes are valid at a time.
var userCodeLimits = throttle.Limits{Free: 10, First: 5 * time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}

// deviceResponse is the device authorization response (RFC 8628 §3.2).
type deviceResponse struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	URI        string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	Expires    int    `json:"expires_in"` // seconds
	Interval   int    `json:"interval"`   // seconds
}

// deviceAuthorization handles the request with which a device without a browser starts a
// sign-in.
func (p *Provider) deviceAuthorization(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	if wait := p.devices.Take(p.Address(r)); wait > 0 {
		return 0, nil, oauth.TooMany(wait)
	}
	f, err := p.readClientForm(w, r)
	if err != nil {
		return 0, nil, err
	}
	c, err := p.client(r.Context(), f.Get("client_id"))
	if err != nil {
		return 0, nil, err
	}
	if !slices.Contains(c.Grants, oauth.GrantDevice) {
		return 0, nil, oauth.Errorf("unauthorized_client", "the client did not register the device code grant type")
	}
	audience, err := p.audienceFor(f.List("resource"))
	if err != nil {
		return 0, nil, err
	}
	code, userCode := accounts.NewSecret(), accounts.NewUserCode()
	d := accounts.Device{Client: c.ID, Audience: audience, Scope: grantedScope(f.Get("scope"))}
	added, err := p.accounts.AddDevice(r.Context(), d, code, userCode, p.Address(r), p.now())
	if err != nil {
		return 0, nil, err
	}
	if !added {
		return 0, nil, oauth.TooMany(time.Minute)
	}
	return http.StatusOK, deviceResponse{
		DeviceCode: code, UserCode: userCode, URI: p.urlOf("/device"),
		Complete: p.urlOf("/device?" + url.Values{"user_code": {userCode}}.Encode()),
		Expires:  oauth.Seconds(accounts.DeviceLifetime), Interval: oauth.Seconds(accounts.DevicePause),
	}, nil
}

// exchangeDeviceCode handles a poll of a device. If the user has allowed the sign-in, it
// returns a new grant and its refresh token.
func (p *Provider) exchangeDeviceCode(ctx context.Context, f oauth.Params) (accounts.Grant, string, error) {
	code := f.Get("device_code")
	if code == "" {
		return accounts.Grant{}, "", oauth.Errorf("invalid_request", "device_code is missing")
	}
	now := p.now()
	d, found, err := p.accounts.PollDevice(ctx, code, f.Get("client_id"), now)
	switch {
	case err != nil:
		return accounts.Grant{}, "", err
	case !found:
		return accounts.Grant{}, "", oauth.Errorf("invalid_grant", "the device code was not issued to this client, or was used before")
	}
	if err := pollError(d, now); err != nil {
		return accounts.Grant{}, "", err
	}
	c, err := p.client(ctx, d.Client)
	if err != nil {
		return accounts.Grant{}, "", err
	}
	g := accounts.Grant{Client: d.Client, Name: c.Title(), User: d.User, Audience: d.Audience, Scope: d.Scope, Authenticated: d.Authenticated}
	if err := p.checkTarget(g, f); err != nil {
		return accounts.Grant{}, "", err
	}
	refresh, err := p.accounts.RedeemDevice(ctx, code, &g, now)
	if err == nil && refresh == "" {
		err = oauth.Errorf("invalid_grant", "the device code was used before")
	}
	return g, refresh, err
}

// pollError returns the reason why a device gets no tokens yet (RFC 8628 §3.5), or nil if the
// user has allowed the sign-in.
func pollError(d accounts.Device, now time.Time) *oauth.Error {
	switch {
	case !now.Before(d.Expires):
		return oauth.Errorf("expired_token", "the device code has expired")
	case d.PolledEarly:
		return oauth.Errorf("slow_down", "the device polls too often")
	case d.Decision == "":
		return oauth.Errorf("authorization_pending", "the user has not decided yet")
	case d.Decision != "allow":
		return oauth.Errorf("access_denied", "the user denied consent")
	}
	return nil
}

// deviceForm is the content of the page on which a user types the user code of a device, and
// then allows or denies its sign-in.
type deviceForm struct {
	Code   string
	Client clientView // empty until the user code is found
	Tools  bool
	Done   string // the decision; "" before the user has decided
}

// devicePage shows the form for the user code.
func (p *Provider) devicePage(w http.ResponseWriter, r *http.Request, v visitor) error {
	if !v.signedIn() {
		return p.showLogin(w, v, loginForm{Next: step{"device", r.URL.RawQuery}}, "")
	}
	return p.showDevice(w, v, deviceForm{Code: r.URL.Query().Get("user_code")}, nil)
}

func (p *Provider) showDevice(w http.ResponseWriter, v visitor, form deviceForm, wrong *problem) error {
	return p.showWith(w, v, "device.html", view{Title: "Connect a device", Content: form}, wrong)
}

// submitUserCode looks up the user code and shows the form for the decision.
func (p *Provider) submitUserCode(w http.ResponseWriter, r *http.Request, v visitor) error {
	form, _, err := p.findDevice(r, v)
	if err != nil {
		return p.wrongCode(w, v, form, err)
	}
	return p.showDevice(w, v, form, nil)
}

// decideDevice handles the form with the user's decision.
func (p *Provider) decideDevice(w http.ResponseWriter, r *http.Request, v visitor) error {
	form, userCode, err := p.findDevice(r, v)
	if err != nil {
		return p.wrongCode(w, v, form, err)
	}
	decision, kind := "deny", accounts.ProgramDenied
	if r.PostForm.Get("decision") == "allow" {
		decision, kind = "allow", accounts.ProgramAllowed
	}
	done, err := p.accounts.DecideDevice(r.Context(), userCode, decision, v.cookie, p.now())
	switch {
	case err != nil:
		return err
	case !done:
		return p.wrongCode(w, v, form, errUserCodeUnknown)
	}
	p.logger.InfoContext(r.Context(), "a user decided on the sign-in of a device", "user", v.user, "client", form.Client.Title, "decision", decision)
	p.report(r, accounts.Event{Kind: kind, User: v.user, Client: form.Client.ID, Detail: "device"})
	form.Done = decision
	return p.showDevice(w, v, form, nil)
}

// errUserCodeUnknown is the only error for user codes that are not accepted. Different errors
// would help guessing.
var errUserCodeUnknown = problemf(http.StatusUnprocessableEntity, "This code is unknown or has expired. Check the code on the device.")

func (p *Provider) wrongCode(w http.ResponseWriter, v visitor, form deviceForm, err error) error {
	if err == errUserCodeUnknown {
		return p.showDevice(w, v, deviceForm{Code: form.Code}, problemOf(err))
	}
	return err
}

// findDevice looks up the sign-in of the device by the user code in a form.
func (p *Provider) findDevice(r *http.Request, v visitor) (form deviceForm, userCode string, err error) {
	form.Code = r.PostForm.Get("user_code")
	if !v.signedIn() {
		return form, "", errSessionEnded
	}
	for _, key := range []string{"user " + v.user, "address " + p.Address(r)} {
		if wait := p.userCodes.Take(key); wait > 0 {
			return form, "", &problem{status: http.StatusTooManyRequests, wait: wait, text: "There were too many attempts. Wait a minute and try again."}
		}
	}
	userCode = accounts.PlainUserCode(form.Code)
	d, found, err := p.accounts.PendingDevice(r.Context(), userCode, p.now())
	switch {
	case err != nil:
		return form, "", err
	case !found:
		return form, "", errUserCodeUnknown
	}
	p.userCodes.Refund("user " + v.user)
	p.userCodes.Refund("address " + p.Address(r))
	c, err := p.client(r.Context(), d.Client)
	if err != nil {
		return form, "", err
	}
	form.Code, form.Client, form.Tools = userCode, viewOf(c, true), d.Audience == p.issuer.Tools()
	return form, userCode, nil
}
