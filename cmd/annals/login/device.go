package login

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"annals/events/fault"

	"golang.org/x/oauth2"
)

// byDevice prints a code, and the address of a page where the person enters the code in
// any browser. It polls the issuer until the person has confirmed the code.
func (f *Flow) byDevice(ctx context.Context, at issuer, config *oauth2.Config) (*oauth2.Token, error) {
	if at.Device == "" {
		return nil, errors.New("the issuer does not support sign-in on another device: use --no-browser to sign in with a browser on this machine")
	}
	code, err := config.DeviceAuth(ctx, f.resource()...)
	if err != nil {
		return nil, err
	}
	const maxInterval = 60 // seconds between two polls
	if code.Interval < 0 || code.Interval > maxInterval {
		code.Interval = maxInterval
	}
	f.Print("Open this address in a browser on any device, and type in the code:", "", "  "+code.VerificationURI, "  "+code.UserCode, "")
	if code.VerificationURIComplete != "" {
		f.Print("or open this address, and check that it shows the same code:", "", "  "+code.VerificationURIComplete, "")
	}
	return f.poll(ctx, config, code)
}

// poll polls until the person has confirmed or denied the code, or the code has
// expired. If the issuer does not respond to a poll, poll continues, as RFC 8628 §3.5
// requires.
func (f *Flow) poll(ctx context.Context, config *oauth2.Config, code *oauth2.DeviceAuthResponse) (*oauth2.Token, error) {
	for {
		token, err := config.DeviceAccessToken(ctx, code, f.resource()...)
		var refused *oauth2.RetrieveError
		switch {
		case err == nil || ctx.Err() != nil:
			return token, err
		case errors.As(err, &refused) && refused.ErrorCode == "expired_token", !code.Expiry.IsZero() && !time.Now().Before(code.Expiry):
			return nil, fault.Errorf(fault.Unauthenticated, "the code expired before it was confirmed: sign in again")
		case !isTemporary(err):
			return nil, err
		}
		f.Print(fmt.Sprintf("The issuer did not respond (%v); retrying", plain(err)))
	}
}

// isTemporary reports whether the same request may succeed later.
func isTemporary(err error) bool {
	var lost *url.Error
	return errors.As(err, &lost) || fault.Is(plain(err), fault.Unavailable)
}
