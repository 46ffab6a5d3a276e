package login

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
)

func TestASignInIsUsedAsLongAsItHolds(t *testing.T) {
	const server = "http://h/core"
	now := time.Now()
	hour := Login{AccessToken: "token", Issued: now.Add(-time.Hour)}
	with := func(l Login, expires time.Time, refresh string) Login {
		l.Expires, l.RefreshToken = expires, refresh
		return l
	}
	var asked atomic.Int64
	gives := func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.FormValue("refresh_token") != "refresh" || r.FormValue("client_id") != "program" {
			t.Errorf("the issuer is sent %v", r.Form)
		}
		says(200, `{"access_token": "next", "token_type": "Bearer", "expires_in": 3600}`)(w, r)
	}
	for name, c := range map[string]struct {
		kept    Login
		refused string
		issuer  http.HandlerFunc
		want    string
		says    string // of the error
		kind    fault.Kind
	}{
		"for long":                           {with(hour, now.Add(time.Hour), "refresh"), "", nil, "token", "", 0},
		"nobody says how long":               {with(hour, time.Time{}, ""), "", nil, "token", "", 0},
		"for minutes":                        {with(hour, now.Add(5*time.Minute), "refresh"), "", gives, "next", "", 0},
		"for minutes, and cannot be renewed": {with(hour, now.Add(5*time.Minute), ""), "", nil, "token", "", 0},
		"for minutes, of few":                {with(Login{AccessToken: "token", Issued: now}, now.Add(5*time.Minute), "refresh"), "", nil, "token", "", 0},
		"refused":                            {with(hour, now.Add(time.Hour), "refresh"), "token", gives, "next", "", 0},
		"another was refused":                {with(hour, now.Add(time.Hour), "refresh"), "the one before", nil, "token", "", 0},
		"expired":                            {with(hour, now.Add(-time.Second), "refresh"), "", gives, "next", "", 0},
		"expired for good":                   {with(hour, now.Add(-time.Second), ""), "", nil, "", "(it has expired): sign in again by annals login --server " + server, fault.Unauthenticated},
		"refused for good":                   {with(hour, now.Add(time.Hour), "refresh"), "token", says(400, `{"error": "invalid_grant"}`), "", `(it refuses: "invalid_grant"): sign in again`, fault.Unauthenticated},
		"refused at a bad moment":            {with(hour, now.Add(time.Hour), "refresh"), "token", says(503, ""), "", "503", fault.Unavailable},
		"signed out":                         {Login{}, "", nil, "", "somebody signed out", fault.Unauthenticated},
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
		source := &Source{Store: s, Server: server, HTTP: NewHTTPClient(nil)}
		got, err := source.Token(t.Context(), c.refused)
		if got != c.want || (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !fault.Is(err, c.kind)) {
			t.Errorf("%s: Token = %q, %v; want %q, %q", name, got, err, c.want, c.says)
		}
		if c.want != "next" {
			continue
		}
		before := asked.Load()
		if again, err := source.Token(t.Context(), "token"); again != "next" || err != nil || asked.Load() != before {
			t.Errorf("%s: Token, once more = %q, %v; want the new one", name, again, err)
		}
		if kept, _, err := s.Get(server); kept.RefreshToken != "refresh" || kept.AccessToken != "next" || err != nil {
			t.Errorf("%s: kept is %+v, %v", name, kept, err)
		}
	}
}
