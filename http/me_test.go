package http_test

import (
	"context"
	"testing"
	"time"

	"annals/events"
	httpd "annals/http"
)

// GET /vault/me shows what the token says of its user.
func TestMe(t *testing.T) {
	s := start(t, func(h *httpd.Server) {
		h.Verify = func(_ context.Context, token string) (events.User, time.Time, error) {
			u := events.User{Principal: events.Principal("user:" + token)}
			switch token {
			case "corp/alice@example.com":
				u.Groups = []events.Principal{"group:corp/finance", "group:corp/board"}
			case "admin":
				u.Admin = true
			case "script":
				u.Token, u.ReadOnly = "secret id", true
			}
			return u, time.Now().Add(time.Hour), nil
		}
	})
	for token, want := range map[string]string{
		"corp/alice@example.com": `{"principal":"user:corp/alice@example.com","name":"corp/alice@example.com","groups":["group:corp/finance","group:corp/board"],"admin":false,"readOnly":false}`,
		"admin":                  `{"principal":"user:admin","name":"admin","groups":[],"admin":true,"readOnly":false}`,
		"script":                 `{"principal":"user:script","name":"script","groups":[],"admin":false,"readOnly":true}`,
	} {
		resp, body := s.do("GET", "/vault/me", "", "Authorization", "Bearer "+token)
		s.want(resp, body, 200, want)
	}
}
