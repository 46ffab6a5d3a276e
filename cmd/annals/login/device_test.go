package login_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"annals/cmd/annals/login"
)

// deviceIssuer starts an issuer that supports only sign-in on another device. It
// answers each poll with the next of replies, and repeats the last of them.
func deviceIssuer(t *testing.T, lifetime int, replies ...http.HandlerFunc) *httptest.Server {
	t.Helper()
	var polls atomic.Int64
	routes := http.NewServeMux()
	s := httptest.NewServer(routes)
	t.Cleanup(s.Close)
	routes.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer": %q, "token_endpoint": %q, "device_authorization_endpoint": %q}`, s.URL, s.URL+"/token", s.URL+"/device")
	})
	routes.HandleFunc("POST /device", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_id") != "program" || r.FormValue("resource") != "http://h/core" || r.FormValue("scope") != "openid offline_access more" {
			t.Errorf("the device code is requested with %v", r.Form)
		}
		fmt.Fprintf(w, `{"device_code": "code", "user_code": "ABCD", "verification_uri": "https://h/device", "expires_in": %d, "interval": 1}`, lifetime)
	})
	routes.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		replies[min(int(polls.Add(1)), len(replies))-1](w, r)
	})
	return s
}

// says returns a handler that replies with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestSignInByDevicePolls(t *testing.T) {
	hangsUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	pending := says(400, `{"error": "authorization_pending"}`)
	for name, c := range map[string]struct {
		lifetime int
		replies  []http.HandlerFunc
		says     string // part of the expected error
	}{
		"replies lost":          {60, []http.HandlerFunc{hangsUp, says(503, "busy"), says(200, `{"access_token": "token", "token_type": "bearer"}`)}, ""},
		"expired at the issuer": {60, []http.HandlerFunc{says(400, `{"error": "expired_token"}`)}, "the code expired"},
		"expired":               {1, []http.HandlerFunc{pending}, "the code expired"},
		"denied":                {60, []http.HandlerFunc{says(400, `{"error": "access_denied"}`)}, "the sign-in was denied"},
		"refused":               {60, []http.HandlerFunc{says(401, `{"error": "invalid_client", "error_description": "who?"}`)}, `the issuer refuses: "invalid_client", "who?"`},
		"other token type":      {60, []http.HandlerFunc{says(200, `{"access_token": "token", "token_type": "DPoP"}`)}, `unsupported type "DPoP"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := deviceIssuer(t, c.lifetime, c.replies...)
			var printed []string
			flow := login.Flow{
				Server: "http://h/core", Issuer: s.URL, ClientID: "program", Resource: "http://h/core", Scopes: []string{"more"},
				Device: true, HTTP: login.NewHTTPClient(nil), Print: func(lines ...string) { printed = append(printed, lines...) },
			}
			l, err := flow.SignIn(t.Context())
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("SignIn = %v, want %q", err, c.says)
			}
			if err == nil && (l.Bearer() != "token" || l.Issuer != s.URL || l.ClientID != "program") {
				t.Errorf("SignIn = %+v", l)
			}
			if text := strings.Join(printed, "\n"); !strings.Contains(text, "https://h/device") || !strings.Contains(text, "ABCD") {
				t.Errorf("SignIn printed %q, want the address and the code", text)
			}
		})
	}
}

func TestSignInSuggestsOtherFlow(t *testing.T) {
	s := deviceIssuer(t, 1)
	flow := login.Flow{Server: "http://h/core", Issuer: s.URL, HTTP: login.NewHTTPClient(nil)}
	if _, err := flow.SignIn(t.Context()); err == nil || !strings.Contains(err.Error(), "try --device") {
		t.Errorf("SignIn with a browser, unsupported by the issuer: got error %v, want a hint at --device", err)
	}
	var plain *httptest.Server
	plain = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer": %q, "token_endpoint": %q}`, plain.URL, plain.URL+"/t")
	}))
	defer plain.Close()
	flow = login.Flow{Server: "http://h/core", Issuer: plain.URL, HTTP: login.NewHTTPClient(nil), Device: true}
	if _, err := flow.SignIn(t.Context()); err == nil || !strings.Contains(err.Error(), "--no-browser") {
		t.Errorf("SignIn on another device, unsupported by the issuer: got error %v, want a hint at --no-browser", err)
	}
}
