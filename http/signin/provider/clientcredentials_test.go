package provider

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/apitoken"
	"annals/http/signin/signintest"
)

func TestServiceHasNoPassword(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	made, err := s.Accounts.Create(ctx, accounts.NewAccount{Name: "ci", Service: true})
	if err != nil || !made.Service {
		t.Fatalf("Create = %+v, %v", made, err)
	}
	if got, err := s.Accounts.Get(ctx, "ci"); err != nil || !got.Service {
		t.Errorf("Get = %+v, %v", got, err)
	}
	accountstest.WantKind(t, "SetPassword of a service", s.Accounts.SetPassword(ctx, "ci", "correct horse"), fault.Invalid)
	_, err = s.Issuer.NewLink(ctx, "ci")
	accountstest.WantKind(t, "NewLink for a service", err, fault.Invalid)
	for _, password := range []string{"", "correct horse", "$argon2id$"} {
		if _, err := s.Accounts.Authenticate(ctx, "ci", password); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("Authenticate of a service with %q: %v, want Unauthenticated", password, err)
		}
	}
	token, _ := s.Token(t, "ci", apitoken.Write, time.Hour)
	b := s.browser()
	for _, password := range []string{"", token} {
		if page := b.submit(b.open("/signin/"), "/login", "username", "ci", "password", password); page.StatusCode != http.StatusForbidden {
			t.Errorf("a service signs in with the password %q: %s, want 403", password, page.Status)
		}
	}
	_, err = s.Accounts.Create(ctx, accounts.NewAccount{Name: "ci", Password: "correct horse"})
	accountstest.WantKind(t, "Create of a user with the name of a service", err, fault.Conflict)
}

// Copying accounts to another store includes API tokens. A backup omits them: otherwise
// restoring it would restore tokens that were revoked since.
func TestAPITokensAreCopiedButNotBackedUp(t *testing.T) {
	s := signintest.New(t)
	ctx := t.Context()
	if _, err := s.Accounts.Create(ctx, accounts.NewAccount{Name: "ci", Service: true}); err != nil {
		t.Fatal(err)
	}
	token, _ := s.Token(t, "ci", apitoken.Read, time.Hour)
	dir := t.TempDir()
	if err := s.Accounts.CopyTo(ctx, filepath.Join(dir, accounts.FileName)); err != nil {
		t.Fatal(err)
	}
	moved := accountstest.OpenFile(t, t.TempDir())
	if err := s.Accounts.CopyInto(ctx, moved); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what     string
		accounts *accounts.Store
		found    bool
	}{{"the backup", accountstest.OpenFile(t, dir), false}, {"the copy", moved, true}} {
		if _, _, found, err := c.accounts.FindToken(ctx, token, s.Clock.Now()); err != nil || found != c.found {
			t.Errorf("FindToken in %s = %t, %v; want %t", c.what, found, err, c.found)
		}
		if a, err := c.accounts.Get(ctx, "ci"); err != nil || !a.Service {
			t.Errorf("Get of the service in %s = %+v, %v", c.what, a, err)
		}
	}
}

func TestClientCredentials(t *testing.T) {
	s := newSite(t)
	if _, err := s.Accounts.Create(t.Context(), accounts.NewAccount{Name: "c i", Service: true}); err != nil {
		t.Fatal(err)
	}
	write, id := s.Token(t, "c i", apitoken.Write, time.Hour/2)
	read, readID := s.Token(t, "c i", apitoken.Read, 48*time.Hour)
	inForm := func(id, secret string, fields ...string) response {
		t.Helper()
		return s.post("/signin/token", with(map[string]string{"grant_type": "client_credentials", "client_id": id, "client_secret": secret}, fields...))
	}
	basic := func(id, secret string, fields ...string) response {
		t.Helper()
		form := encodeForm(with(map[string]string{"grant_type": "client_credentials"}, fields...))
		return s.send("POST", "/signin/token", form, "Content-Type", "application/x-www-form-urlencoded",
			"Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(id+":"+secret)))
	}
	for what, c := range map[string]struct {
		response
		scope    string
		tools    bool
		seconds  float64
		readOnly bool
		id       string
	}{
		"by id":               {inForm(id, write), "write", false, 1800, false, id},
		"by name":             {inForm("c i", write), "write", false, 1800, false, id},
		"in the header":       {basic(id, write), "write", false, 1800, false, id},
		"by name in it":       {basic("c+i", write), "write", false, 1800, false, id},
		"named in both":       {basic(id, write, "client_id", id), "write", false, 1800, false, id},
		"narrowed":            {inForm(id, write, "scope", "read"), "read", false, 1800, true, id},
		"of a read token":     {inForm(readID, read), "read", false, 3600, true, readID},
		"for the tools":       {inForm(readID, read, "resource", s.URL+"/mcp"), "read", true, 3600, true, readID},
		"for the vault":       {inForm(id, write, "resource", s.URL+"/vault", "scope", "read write"), "write", false, 1800, false, id},
		"with unknown scopes": {inForm(id, write, "scope", "openid offline_access"), "write", false, 1800, false, id},
	} {
		if c.StatusCode != http.StatusOK || c.field("scope") != c.scope || c.field("refresh_token") != "" || c.field("id_token") != "" || c.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s %s", what, c.Status, c.body)
			continue
		}
		if strings.Contains(c.body, "refresh_token") {
			t.Errorf("%s: %s", what, c.body)
		}
		accepting, rejecting := s.Verifier, s.tools
		if c.tools {
			accepting, rejecting = s.tools, s.Verifier
		}
		user, _, err := accepting.Verify(t.Context(), c.field("access_token"))
		if err != nil || user.Principal != "user:c i" || user.ReadOnly != c.readOnly || user.Token != c.id {
			t.Errorf("the access token for credentials %s is that of %+v, %v", what, user, err)
		}
		if _, _, err := rejecting.Verify(t.Context(), c.field("access_token")); err == nil {
			t.Errorf("the access token for credentials %s is accepted for another audience", what)
		}
	}
	for what, c := range map[string]struct {
		response
		status int
		code   string
	}{
		"another token's id":   {inForm(readID, write), 401, "invalid_client"},
		"another account":      {inForm("alice", write), 401, "invalid_client"},
		"a password":           {inForm("alice", "correct horse"), 401, "invalid_client"},
		"no secret":            {inForm(id, ""), 401, "invalid_client"},
		"no id":                {inForm("", write), 401, "invalid_client"},
		"a wrong header":       {basic(id, read), 401, "invalid_client"},
		"two ways":             {basic(id, write, "client_secret", write), 400, "invalid_request"},
		"more than it may":     {inForm(readID, read, "scope", "read write"), 400, "invalid_scope"},
		"an unknown resource":  {inForm(id, write, "resource", "https://other.example"), 400, "invalid_target"},
		"a registered program": {inForm(s.register(webRedirect).id, write), 401, "invalid_client"},
	} {
		s.wantError(what, c.response, c.status, c.code)
	}
	access := inForm(readID, read).field("access_token")
	if _, err := s.Accounts.RevokeToken(t.Context(), readID); err != nil {
		t.Fatal(err)
	}
	s.wantError("a revoked API token", inForm(readID, read), 401, "invalid_client")
	s.WantEnded(t, "the access token of a revoked API token", access)
	access = inForm(id, write).field("access_token")
	s.Clock.Advance(31 * time.Minute)
	s.WantEnded(t, "the access token of an expired API token", access)
}

// Requests with a wrong client secret are limited by address. Requests with the right secret,
// and users who sign in from the same address, are not affected.
func TestWrongClientSecretsAreThrottled(t *testing.T) {
	s := newSite(t)
	token, id := s.Token(t, "alice", apitoken.Read, time.Hour)
	guess := func(secret string) response {
		return s.post("/signin/token", map[string]string{"grant_type": "client_credentials", "client_id": id, "client_secret": secret})
	}
	other, _ := apitoken.New()
	for range addressLimits.Free {
		s.wantError("a guess", guess(other), http.StatusUnauthorized, "invalid_client")
	}
	if a := guess(other); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("a wrong secret after the free attempts = %s %s, want 429", a.Status, a.body)
	}
	if a := guess(token); a.StatusCode != http.StatusOK {
		t.Errorf("the right secret afterwards = %s %s, want 200", a.Status, a.body)
	}
	b := s.browser()
	if page := b.signIn(b.open("/signin/"), "alice"); page.StatusCode != http.StatusOK || !strings.Contains(page.body, "You are signed in") {
		t.Errorf("a sign-in from the same address = %s %s, want the account page", page.Status, page.body)
	}
}

// A user's client has write access even if the id of its grant begins like the id of an API
// token.
func TestGrantIDIsNotTokenID(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	g := p.redeem(p.code(b))
	id, err := s.provider.grantOf(t.Context(), g.field("access_token"))
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	const alike = "t-3xYzAbCdEfGhIjKlMnOp"
	if len(alike) != len(id) {
		t.Fatalf("the id of the grant has %d characters, want %d", len(id), len(alike))
	}
	if _, err := accountstest.OpenDB(t, s.Dir).ExecContext(t.Context(), `UPDATE grants SET id = $1 WHERE id = $2`, alike, id); err != nil {
		t.Fatal(err)
	}
	access, _, err := s.Issuer.Sign(t.Context(), "at+jwt", "alice", []string{s.URL + "/mcp"}, tokenClaims{Client: p.id, Grant: alike})
	if err != nil {
		t.Fatal(err)
	}
	if user, _, err := s.tools.Verify(t.Context(), access); err != nil || user.ReadOnly || user.Token != "" {
		t.Errorf("Verify = %+v, %v; want a user with write access and no token", user, err)
	}
}

// On the account page users see their own API tokens and can revoke them, but no tokens of
// other users.
func TestAccountPageEndsAPITokens(t *testing.T) {
	s := newSite(t)
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "bob"})
	token, id := s.Token(t, "alice", apitoken.Write, time.Hour)
	others, otherID := s.Token(t, "bob", apitoken.Read, time.Hour)
	_, old := s.Token(t, "alice", apitoken.Read, time.Minute)
	s.Clock.Advance(2 * time.Minute)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	page := b.open("/signin/")
	if !strings.Contains(page.body, "reads and changes what you may") || !strings.Contains(page.body, id) || strings.Contains(page.body, otherID) || strings.Contains(page.body, old) {
		t.Fatalf("the account page of alice does not show exactly her unexpired token: %s", page.body)
	}
	b.submit(page, "/forget", "id", otherID)
	if _, _, err := s.Verifier.Verify(t.Context(), others); err != nil {
		t.Errorf("after alice tried to end the token of bob: %v", err)
	}
	if !strings.Contains(page.body, "Your API tokens stay valid") {
		t.Errorf("the account page does not say that signing out keeps API tokens: %s", page.body)
	}
	b.submit(page, "/logout", "everywhere", "yes")
	if _, _, err := s.Verifier.Verify(t.Context(), token); err != nil {
		t.Errorf("an API token after signing out everywhere: %v, want it valid", err)
	}
	b.signIn(b.open("/signin/"), "alice")
	page = b.open("/signin/")
	if page = b.submit(page, "/forget"); strings.Contains(page.body, id) {
		t.Errorf("the account page still shows the token that was ended: %s", page.body)
	}
	s.WantEnded(t, "a token that its user has ended", token)
}
