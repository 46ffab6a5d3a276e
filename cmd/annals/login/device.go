package login

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"annals/events/fault"
)

// byDevice shows a code for a browser anywhere, and asks until somebody has
// confirmed it there.
func (f *Flow) byDevice(ctx context.Context, at issuer, config *oauth2.Config) (*oauth2.Token, error) {
	if at.Device == "" {
		return nil, errors.New("it has no sign-in for devices; --no-browser signs in by a browser on this machine")
	}
	code, err := config.DeviceAuth(ctx, f.resource()...)
	if err != nil {
		return nil, err
	}
	const most = 60 // seconds between two questions
	if code.Interval < 0 || code.Interval > most {
		code.Interval = most
	}
	f.Tell("Open this address in a browser, on any device, and type in the code:", "", "  "+code.VerificationURI, "  "+code.UserCode, "")
	if code.VerificationURIComplete != "" {
		f.Tell("or open this one, and compare the code:", "", "  "+code.VerificationURIComplete, "")
	}
	return f.poll(ctx, config, code)
}

// poll asks whether the code was confirmed. A question that gets no answer does
// not matter: the next one may (RFC 8628 §3.5).
func (f *Flow) poll(ctx context.Context, config *oauth2.Config, code *oauth2.DeviceAuthResponse) (*oauth2.Token, error) {
	for {
		token, err := config.DeviceAccessToken(ctx, code, f.resource()...)
		var refused *oauth2.RetrieveError
		switch {
		case err == nil || ctx.Err() != nil:
			return token, err
		case errors.As(err, &refused) && refused.ErrorCode == "expired_token", !code.Expiry.IsZero() && !time.Now().Before(code.Expiry):
			return nil, fault.Errorf(fault.Unauthenticated, "the code has expired, and nobody had confirmed it")
		case !passes(err):
			return nil, err
		}
		f.Tell(fmt.Sprintf("There was no answer (%v); asking again", plain(err)))
	}
}

// passes reports whether the same request may succeed later.
func passes(err error) bool {
	var lost *url.Error
	return errors.As(err, &lost) || fault.Is(plain(err), fault.Unavailable)
}
