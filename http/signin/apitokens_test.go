package signin

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin/apitoken"
)

// token makes a token of an account.
func (s builtInStack) token(t testing.TB, user string, scope apitoken.Scope, lasts time.Duration) (token, id string) {
	t.Helper()
	token, made, err := s.accounts.CreateToken(t.Context(), NewToken{User: user, Scope: scope, Note: "for tests", Lasts: lasts}, s.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	return token, made.ID
}

// wantEnded holds that a token is refused as one that does not sign anybody in.
func (s builtInStack) wantEnded(t testing.TB, what, token string) {
	t.Helper()
	for _, v := range []*Verifier{s.verifier, s.verifier.For("http://annals.test/mcp")} {
		user, _, err := v.Verify(t.Context(), token)
		wantKind(t, what, err, fault.Unauthenticated)
		if user.Principal != "" {
			t.Errorf("%s is that of %s", what, user.Principal)
		}
	}
}

func TestATokenIsItsAccountWithinItsScope(t *testing.T) {
	s := newBuiltIn(t)
	addUser(t, s.accounts, NewAccount{Name: "root", Admin: true})
	if _, err := s.accounts.Create(t.Context(), NewAccount{Name: "ci", Groups: []string{"builders"}, Service: true}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user     string
		scope    apitoken.Scope
		group    string
		admin    bool
		readOnly bool
	}{
		{"ci", apitoken.Read, "group:builders", false, true}, {"ci", apitoken.Write, "group:builders", false, false},
		{"alice", apitoken.Read, "group:staff", false, true}, {"root", apitoken.Read, "", true, true}, {"root", apitoken.Write, "", true, false},
	} {
		token, id := s.token(t, c.user, c.scope, time.Hour)
		for _, v := range []*Verifier{s.verifier, s.verifier.For("http://annals.test/mcp")} {
			user, until, err := v.Verify(t.Context(), token)
			if err != nil || user.Principal.Name() != c.user || user.Admin != c.admin || user.ReadOnly != c.readOnly || user.Token != id || user.Via("vault") != "vault by token "+id {
				t.Errorf("the token of %s with scope %s is that of %+v, %v", c.user, c.scope, user, err)
			}
			if c.group != "" && (len(user.Groups) != 1 || string(user.Groups[0]) != c.group) {
				t.Errorf("the groups of %s are %v, want %s", c.user, user.Groups, c.group)
			}
			if d := until.Sub(s.clock.now()); d > time.Hour || d < time.Hour-time.Second {
				t.Errorf("it lasts %v", d)
			}
		}
	}
	if err := s.accounts.SetGroups(t.Context(), "ci", []string{"testers"}); err != nil {
		t.Fatal(err)
	}
	token, _ := s.token(t, "ci", apitoken.Read, time.Hour)
	if user, _, err := s.verifier.Verify(t.Context(), token); err != nil || len(user.Groups) != 1 || user.Groups[0] != "group:testers" {
		t.Errorf("after its groups changed: %+v, %v", user, err)
	}
}

// A token ends at once, at every node, by whatever ends it.
func TestWhatEndsAToken(t *testing.T) {
	s := newBuiltIn(t)
	ctx := t.Context()
	other := s // another node
	other.accounts = openAccounts(t, s.dir)
	issuer, err := NewIssuer(other.accounts, IssuerOptions{URL: s.issuer.URL(), Now: s.clock.now})
	if err == nil {
		other.verifier, err = NewVerifier(Options{BuiltIn: issuer, Now: s.clock.now})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.verifier.Close)
	for what, end := range map[string]func(id string) error{
		"revoking it": func(id string) error { _, err := s.accounts.RevokeToken(ctx, id); return err },
		"its end":     func(string) error { s.clock.advance(time.Hour); return nil },
		"disabling its account": func(string) error {
			return errors.Join(s.accounts.Disable(ctx, "alice"), s.accounts.Enable(ctx, "alice"))
		},
		"another password":        func(string) error { return s.accounts.SetPassword(ctx, "alice", "battery staple") },
		"a sweep after its month": func(string) error { return s.accounts.sweep(ctx, s.clock.now().Add(tokenMemory+time.Hour+time.Minute)) },
	} {
		token, id := s.token(t, "alice", apitoken.Write, time.Hour)
		for _, node := range []builtInStack{s, other} {
			if _, _, err := node.verifier.Verify(ctx, token); err != nil {
				t.Fatalf("before %s: %v", what, err)
			}
		}
		if err := end(id); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s.wantEnded(t, "the token after "+what, token)
		other.wantEnded(t, "the token at another node after "+what, token)
	}
	token, id := s.token(t, "alice", apitoken.Write, time.Hour)
	if err := s.accounts.Delete(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	s.wantEnded(t, "the token of a deleted account", token)
	_, err = s.accounts.RevokeToken(ctx, id)
	wantKind(t, "revoking it then", err, fault.NotFound)
	_, _, err = s.accounts.CreateToken(ctx, NewToken{User: "alice", Scope: apitoken.Read, Lasts: time.Hour}, s.clock.now())
	wantKind(t, "a token of a deleted account", err, fault.NotFound)
}

func TestATokenIsKeptAsItsHashAlone(t *testing.T) {
	s := newBuiltIn(t)
	token, id := s.token(t, "alice", apitoken.Read, time.Hour)
	var hash []byte
	if err := s.accounts.db.QueryRow(`SELECT hash FROM tokens WHERE id = $1`, id).Scan(&hash); err != nil || len(hash) != 32 || bytes.Contains([]byte(token), hash) {
		t.Fatalf("the row of %s has %x, %v", id, hash, err)
	}
	want, _ := apitoken.Digest(token)
	if !bytes.Equal(hash, want) {
		t.Errorf("the hash is %x, want %x", hash, want)
	}
	stranger, _ := apitoken.New()
	for what, guess := range map[string]string{
		"the id": id, "the hash": base64.RawURLEncoding.EncodeToString(hash), "another token": stranger, "half of it": token[:len(token)/2],
		"more than it": token + "a", "the prefix": apitoken.Prefix, "what is too long": apitoken.Prefix + strings.Repeat("a", 1<<20), "NUL": apitoken.Prefix + "\x00",
	} {
		s.wantEnded(t, what, guess)
	}
}

func TestWhatATokenCannotBe(t *testing.T) {
	s := newBuiltIn(t)
	good := NewToken{User: "alice", Scope: apitoken.Read, Lasts: time.Hour}
	for what, c := range map[string]struct {
		change func(*NewToken)
		kind   fault.Kind
	}{
		"for nobody":        {func(n *NewToken) { n.User = "bob" }, fault.NotFound},
		"without a scope":   {func(n *NewToken) { n.Scope = "" }, fault.Invalid},
		"of another scope":  {func(n *NewToken) { n.Scope = "admin" }, fault.Invalid},
		"for ever":          {func(n *NewToken) { n.Lasts = 367 * 24 * time.Hour }, fault.Invalid},
		"for no time":       {func(n *NewToken) { n.Lasts = 0 }, fault.Invalid},
		"with a long note":  {func(n *NewToken) { n.Note = strings.Repeat("a", 201) }, fault.Invalid},
		"with lines":        {func(n *NewToken) { n.Note = "a\nb" }, fault.Invalid},
		"with hidden signs": {func(n *NewToken) { n.Note = "a\u202eb" }, fault.Invalid},
	} {
		n := good
		c.change(&n)
		token, _, err := s.accounts.CreateToken(t.Context(), n, s.clock.now())
		wantKind(t, "a token "+what, err, c.kind)
		if token != "" {
			t.Errorf("a token %s = %q", what, token)
		}
	}
	for range maxTokens {
		s.token(t, "alice", apitoken.Read, time.Hour)
	}
	_, _, err := s.accounts.CreateToken(t.Context(), good, s.clock.now())
	wantKind(t, "one token more than an account has", err, fault.Conflict)
	s.clock.advance(2 * time.Hour)
	s.token(t, "alice", apitoken.Read, time.Hour) // the others have ended
}

// When a token was last used is written beside the requests, once in a while.
func TestWhenATokenWasUsed(t *testing.T) {
	s := newBuiltIn(t)
	token, id := s.token(t, "alice", apitoken.Read, 24*time.Hour)
	used := func() time.Time {
		t.Helper()
		s.accounts.uses.writer.Wait()
		all, err := s.accounts.Tokens(t.Context(), "alice")
		if err != nil || len(all) != 1 || all[0].ID != id || all[0].Scope != apitoken.Read || all[0].Note != "for tests" || all[0].Service {
			t.Fatalf("Tokens = %+v, %v", all, err)
		}
		return all[0].Used
	}
	if u := used(); !u.IsZero() {
		t.Errorf("one that was not used was used at %v", u)
	}
	var last time.Time
	for i, c := range []struct {
		later time.Duration
		noted bool
	}{{0, true}, {10 * time.Second, false}, {usePause, true}, {usePause / 2, false}} {
		s.clock.advance(c.later)
		for range 3 {
			if _, _, err := s.verifier.Verify(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		now := used()
		if now.After(last) != c.noted || c.noted && now.Sub(s.clock.now()).Abs() > time.Second {
			t.Errorf("use %d at %v is noted as %v after %v, want it noted: %t", i, s.clock.now(), now, last, c.noted)
		}
		last = now
	}
}

func TestAServiceHasNoPassword(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	made, err := s.accounts.Create(ctx, NewAccount{Name: "ci", Service: true})
	if err != nil || !made.Service {
		t.Fatalf("Create = %+v, %v", made, err)
	}
	if got, err := s.accounts.Get(ctx, "ci"); err != nil || !got.Service {
		t.Errorf("Get = %+v, %v", got, err)
	}
	wantKind(t, "a password for a service", s.accounts.SetPassword(ctx, "ci", "correct horse"), fault.Invalid)
	_, err = s.issuer.NewLink(ctx, "ci")
	wantKind(t, "a link for a service", err, fault.Invalid)
	for _, password := range []string{"", "correct horse", "$argon2id$"} {
		if _, err := s.accounts.Authenticate(ctx, "ci", password); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("a service signs in with %q: %v", password, err)
		}
	}
	token, _ := s.token(t, "ci", apitoken.Write, time.Hour)
	b := s.browser()
	for _, password := range []string{"", token} {
		if page := b.submit(b.open("/signin/"), "/login", "username", "ci", "password", password); page.StatusCode != http.StatusForbidden {
			t.Errorf("a service in a browser with the password %q = %s", password, page.Status)
		}
	}
	_, err = s.accounts.Create(ctx, NewAccount{Name: "ci", Password: "correct horse"})
	wantKind(t, "a user of a service's name", err, fault.Conflict)
}

// A copy that moves accounts takes tokens along; one that may be put back later does
// not, since a token may have been revoked since.
func TestTokensMoveAndAreNotRestored(t *testing.T) {
	s := newBuiltIn(t)
	ctx := t.Context()
	if _, err := s.accounts.Create(ctx, NewAccount{Name: "ci", Service: true}); err != nil {
		t.Fatal(err)
	}
	token, _ := s.token(t, "ci", apitoken.Read, time.Hour)
	dir := t.TempDir()
	if err := s.accounts.CopyTo(ctx, filepath.Join(dir, AccountsFile)); err != nil {
		t.Fatal(err)
	}
	moved := openCopy(t, t.TempDir())
	if err := s.accounts.CopyInto(ctx, moved); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what     string
		accounts *Accounts
		found    bool
	}{{"a backup", openCopy(t, dir), false}, {"a store that was moved to", moved, true}} {
		if _, found, err := c.accounts.heldToken(ctx, token, s.clock.now()); err != nil || found != c.found {
			t.Errorf("%s has the token: %t, %v", c.what, found, err)
		}
		if a, err := c.accounts.Get(ctx, "ci"); err != nil || !a.Service {
			t.Errorf("%s has the service as %+v, %v", c.what, a, err)
		}
	}
}

func TestClientCredentials(t *testing.T) {
	s := newSite(t)
	if _, err := s.accounts.Create(t.Context(), NewAccount{Name: "c i", Service: true}); err != nil {
		t.Fatal(err)
	}
	write, id := s.token(t, "c i", apitoken.Write, time.Hour/2)
	read, readID := s.token(t, "c i", apitoken.Read, 48*time.Hour)
	ask := func(id, secret string, fields ...string) answer {
		t.Helper()
		return s.post("/signin/token", with(map[string]string{"grant_type": "client_credentials", "client_id": id, "client_secret": secret}, fields...))
	}
	basic := func(id, secret string, fields ...string) answer {
		t.Helper()
		form := encodeForm(with(map[string]string{"grant_type": "client_credentials"}, fields...))
		return s.send("POST", "/signin/token", form, "Content-Type", "application/x-www-form-urlencoded",
			"Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(id+":"+secret)))
	}
	for what, c := range map[string]struct {
		answer
		scope    string
		tools    bool
		seconds  float64
		readOnly bool
		id       string
	}{
		"by id":               {ask(id, write), "write", false, 1800, false, id},
		"by name":             {ask("c i", write), "write", false, 1800, false, id},
		"in the header":       {basic(id, write), "write", false, 1800, false, id},
		"by name in it":       {basic("c+i", write), "write", false, 1800, false, id},
		"named in both":       {basic(id, write, "client_id", id), "write", false, 1800, false, id},
		"narrowed":            {ask(id, write, "scope", "read"), "read", false, 1800, true, id},
		"of a read token":     {ask(readID, read), "read", false, 3600, true, readID},
		"for the tools":       {ask(readID, read, "resource", s.URL+"/mcp"), "read", true, 3600, true, readID},
		"for the vault":       {ask(id, write, "resource", s.URL+"/vault", "scope", "read write"), "write", false, 1800, false, id},
		"with unknown scopes": {ask(id, write, "scope", "openid offline_access"), "write", false, 1800, false, id},
	} {
		if c.StatusCode != http.StatusOK || c.told("scope") != c.scope || c.told("refresh_token") != "" || c.told("id_token") != "" || c.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s %s", what, c.Status, c.body)
			continue
		}
		if strings.Contains(c.body, "refresh_token") {
			t.Errorf("%s: %s", what, c.body)
		}
		takes, refuses := s.verifier, s.tools
		if c.tools {
			takes, refuses = s.tools, s.verifier
		}
		user, _, err := takes.Verify(t.Context(), c.told("access_token"))
		if err != nil || user.Principal != "user:c i" || user.ReadOnly != c.readOnly || user.Token != c.id {
			t.Errorf("%s gives a token of %+v, %v", what, user, err)
		}
		if _, _, err := refuses.Verify(t.Context(), c.told("access_token")); err == nil {
			t.Errorf("%s gives a token for another audience", what)
		}
	}
	for what, c := range map[string]struct {
		answer
		status int
		code   string
	}{
		"another token's id":   {ask(readID, write), 401, "invalid_client"},
		"another account":      {ask("alice", write), 401, "invalid_client"},
		"a password":           {ask("alice", "correct horse"), 401, "invalid_client"},
		"no secret":            {ask(id, ""), 401, "invalid_client"},
		"no id":                {ask("", write), 401, "invalid_client"},
		"a wrong header":       {basic(id, read), 401, "invalid_client"},
		"two ways":             {basic(id, write, "client_secret", write), 400, "invalid_request"},
		"more than it may":     {ask(readID, read, "scope", "read write"), 400, "invalid_scope"},
		"an unknown resource":  {ask(id, write, "resource", "https://other.example"), 400, "invalid_target"},
		"a registered program": {ask(s.register(elsewhere).id, write), 401, "invalid_client"},
	} {
		s.wantError(what, c.answer, c.status, c.code)
	}
	given := ask(readID, read).told("access_token")
	if _, err := s.accounts.RevokeToken(t.Context(), readID); err != nil {
		t.Fatal(err)
	}
	s.wantError("a revoked one", ask(readID, read), 401, "invalid_client")
	s.wantEnded(t, "what a revoked one gave", given)
	given = ask(id, write).told("access_token")
	s.clock.advance(31 * time.Minute)
	s.wantEnded(t, "what one gave that has expired", given)
}

// Wrong secrets of clients have to wait in the end; right ones never do, nor do people
// who sign in from the same address.
func TestWrongSecretsOfClientsHinderNobodyElse(t *testing.T) {
	s := newSite(t)
	token, id := s.token(t, "alice", apitoken.Read, time.Hour)
	guess := func(secret string) answer {
		return s.post("/signin/token", map[string]string{"grant_type": "client_credentials", "client_id": id, "client_secret": secret})
	}
	other, _ := apitoken.New()
	for range addressLimits.free {
		s.wantError("a guess", guess(other), http.StatusUnauthorized, "invalid_client")
	}
	if a := guess(other); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("one guess too many = %s %s", a.Status, a.body)
	}
	if a := guess(token); a.StatusCode != http.StatusOK {
		t.Errorf("the right one after them = %s %s", a.Status, a.body)
	}
	b := s.browser()
	if page := b.signIn(b.open("/signin/"), "alice"); page.StatusCode != http.StatusOK || !strings.Contains(page.body, "You are signed in") {
		t.Errorf("the right password from the same address = %s %s", page.Status, page.body)
	}
}

// A sign-in of a person's program may change things, whatever its grant is called.
func TestAGrantWithTheNameOfATokenIsNone(t *testing.T) {
	s := newSite(t)
	p, b := s.register(elsewhere), s.browser()
	g := p.redeem(p.code(b))
	id, err := s.provider.grantOf(t.Context(), g.told("access_token"))
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	const alike = "t-3xYzAbCdEfGhIjKlMnOp" // as long as they are
	if len(alike) != len(id) {
		t.Fatalf("ids of grants have %d characters", len(id))
	}
	if _, err := s.accounts.db.exec(t.Context(), `UPDATE grants SET id = $1 WHERE id = $2`, alike, id); err != nil {
		t.Fatal(err)
	}
	access, _, err := s.issuer.sign(t.Context(), "at+jwt", "alice", []string{s.URL + "/mcp"}, tokenClaims{Client: p.id, Grant: alike})
	if err != nil {
		t.Fatal(err)
	}
	if user, _, err := s.tools.Verify(t.Context(), access); err != nil || user.ReadOnly || user.Token != "" {
		t.Errorf("it is that of %+v, %v", user, err)
	}
}

// A user sees the tokens that act in his name, and ends them; nobody else's.
func TestUsersSeeAndEndTheTokensWithTheirName(t *testing.T) {
	s := newSite(t)
	addUser(t, s.accounts, NewAccount{Name: "bob"})
	token, id := s.token(t, "alice", apitoken.Write, time.Hour)
	others, otherID := s.token(t, "bob", apitoken.Read, time.Hour)
	_, old := s.token(t, "alice", apitoken.Read, time.Minute)
	s.clock.advance(2 * time.Minute)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	page := b.open("/signin/")
	if !strings.Contains(page.body, "reads and changes what you may") || !strings.Contains(page.body, id) || strings.Contains(page.body, otherID) || strings.Contains(page.body, old) {
		t.Fatalf("alice sees %s", page.body)
	}
	b.submit(page, "/forget", "id", otherID)
	if _, _, err := s.verifier.Verify(t.Context(), others); err != nil {
		t.Errorf("alice ends the token of bob: %v", err)
	}
	if !strings.Contains(page.body, "Your API tokens stay valid") {
		t.Errorf("the page does not say that signing out leaves tokens: %s", page.body)
	}
	b.submit(page, "/logout", "everywhere", "yes")
	if _, _, err := s.verifier.Verify(t.Context(), token); err != nil {
		t.Errorf("signing out everywhere ends a token that the page says stays: %v", err)
	}
	b.signIn(b.open("/signin/"), "alice")
	page = b.open("/signin/")
	if page = b.submit(page, "/forget"); strings.Contains(page.body, id) {
		t.Errorf("it is still there: %s", page.body)
	}
	s.wantEnded(t, "what alice has ended", token)
}
