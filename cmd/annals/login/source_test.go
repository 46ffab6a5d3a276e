package login_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/cmd/annals/login"
	"annals/events/fault"
)

func TestSourceRefreshesTokensInTime(t *testing.T) {
	const server = "http://h/core"
	now := time.Now()
	hour := login.Login{AccessToken: "token", Issued: now.Add(-time.Hour)}
	with := func(l login.Login, expires time.Time, refresh string) login.Login {
		l.Expires, l.RefreshToken = expires, refresh
		return l
	}
	var refreshes atomic.Int64
	issueNext := func(w http.ResponseWriter, r *http.Request) {
		refreshes.Add(1)
		if r.FormValue("refresh_token") != "refresh" || r.FormValue("client_id") != "program" {
			t.Errorf("the issuer got %v", r.Form)
		}
		says(200, `{"access_token": "next", "token_type": "Bearer", "expires_in": 3600}`)(w, r)
	}
	for name, c := range map[string]struct {
		kept    login.Login
		refused string
		issuer  http.HandlerFunc
		want    string
		says    string // part of the expected error
		kind    fault.Kind
	}{
		"valid for long":                           {with(hour, now.Add(time.Hour), "refresh"), "", nil, "token", "", 0},
		"unknown expiry":                           {with(hour, time.Time{}, ""), "", nil, "token", "", 0},
		"valid for minutes":                        {with(hour, now.Add(5*time.Minute), "refresh"), "", issueNext, "next", "", 0},
		"valid for minutes, without refresh token": {with(hour, now.Add(5*time.Minute), ""), "", nil, "token", "", 0},
		"valid for minutes, short-lived":           {with(login.Login{AccessToken: "token", Issued: now}, now.Add(5*time.Minute), "refresh"), "", nil, "token", "", 0},
		"refused":                                  {with(hour, now.Add(time.Hour), "refresh"), "token", issueNext, "next", "", 0},
		"other token refused":                      {with(hour, now.Add(time.Hour), "refresh"), "the one before", nil, "token", "", 0},
		"expired":                                  {with(hour, now.Add(-time.Second), "refresh"), "", issueNext, "next", "", 0},
		"expired, without refresh token":           {with(hour, now.Add(-time.Second), ""), "", nil, "", "(it has expired): sign in again with annals login --server " + server, fault.Unauthenticated},
		"refused, as is the refresh token":         {with(hour, now.Add(time.Hour), "refresh"), "token", says(400, `{"error": "invalid_grant"}`), "", `(the issuer refuses: "invalid_grant"): sign in again`, fault.Unauthenticated},
		"refused, and the issuer is down":          {with(hour, now.Add(time.Hour), "refresh"), "token", says(503, ""), "", "503", fault.Unavailable},
		"signed out":                               {login.Login{}, "", nil, "", "the user has signed out", fault.Unauthenticated},
	} {
		s := newStore(t)
		c.kept.ClientID = "program"
		if c.issuer != nil {
			c.kept.TokenURL = deviceIssuer(t, 0, c.issuer).URL + "/token"
		}
		if c.kept.AccessToken != "" {
			if _, _, err := s.Put(t.Context(), server, c.kept); err != nil {
				t.Fatal(err)
			}
		}
		source := &login.Source{Store: s, Server: server, HTTP: login.NewHTTPClient(nil)}
		got, err := source.Token(t.Context(), c.refused)
		if got != c.want || (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !fault.Is(err, c.kind)) {
			t.Errorf("%s: Token = %q, %v; want %q, %q", name, got, err, c.want, c.says)
		}
		if c.want != "next" {
			continue
		}
		before := refreshes.Load()
		if again, err := source.Token(t.Context(), "token"); again != "next" || err != nil || refreshes.Load() != before {
			t.Errorf("%s: second Token = %q, %v after %d refreshes; want the new token without a refresh", name, again, err, refreshes.Load()-before)
		}
		if stored, _, err := s.Get(server); stored.RefreshToken != "refresh" || stored.AccessToken != "next" || err != nil {
			t.Errorf("%s: the store has %+v, %v; want the new token", name, stored, err)
		}
	}
}
