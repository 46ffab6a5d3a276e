package provider

import (
	"context"
	"net/http"
	"strings"

	"annals/http/signin/accounts"
	"annals/http/signin/provider/oauth"
)

// revoke ends the grant that a refresh token or access token was issued for (RFC 7009). It
// ignores unknown tokens and tokens of other clients.
func (p *Provider) revoke(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	f, err := p.readClientForm(w, r)
	if err != nil {
		return 0, nil, err
	}
	token := f.Get("token")
	if token == "" {
		return 0, nil, oauth.Errorf("invalid_request", "token is missing")
	}
	id, err := p.grantOf(r.Context(), token)
	if err != nil {
		return 0, nil, err
	}
	g, found, err := p.accounts.Grant(r.Context(), id, p.now())
	if err == nil && found && g.Client == f.Get("client_id") {
		if err = p.accounts.EndGrant(r.Context(), g.ID); err == nil {
			p.report(r, accounts.Event{Kind: accounts.ProgramEnded, User: g.User, Client: g.Client})
		}
	}
	return http.StatusOK, nil, err
}

// grantOf returns the id of the grant that a token was issued for, or "" if there is none.
func (p *Provider) grantOf(ctx context.Context, token string) (string, error) {
	if strings.Count(token, ".") != 2 {
		return accounts.GrantID(token), nil
	}
	return p.issuer.GrantOf(ctx, token)
}
