package consoletest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// tokenLasts is how long the tokens of the issuer are valid.
const tokenLasts = 2 * time.Second

// issuer is an OpenID issuer that signs in its only user without asking, and whose tokens are valid for a short time.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu                sync.Mutex
	nonce             string
	refresh           string // the refresh token, which is valid once
	signIns, renewals int
}

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	reply := map[string]any{}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		reply = map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}}
	case "/keys":
		reply["keys"] = []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "k", Use: "sig"}}
	case "/authorize":
		i.signIns++
		i.nonce = r.FormValue("nonce")
		to := url.Values{"code": {"code"}, "state": {r.FormValue("state")}}
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+to.Encode(), http.StatusFound)
		return
	case "/token":
		if r.FormValue("grant_type") == "refresh_token" {
			if r.FormValue("refresh_token") != i.refresh {
				w.WriteHeader(http.StatusBadRequest)
				reply["error"] = "invalid_grant"
				break
			}
			i.renewals++
		}
		token, err := i.token()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		i.refresh = rand.Text()
		reply = map[string]any{"access_token": token, "id_token": token, "refresh_token": i.refresh, "token_type": "Bearer", "expires_in": tokenLasts / time.Second}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // an error means that the client has gone
}

func (i *issuer) token() (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", "k"))
	if err != nil {
		return "", err
	}
	now := time.Now()
	return jwt.Signed(signer).Claims(map[string]any{"iss": i.URL, "sub": "dora", "aud": "console", "nonce": i.nonce, "iat": now.Unix(), "exp": now.Add(tokenLasts).Unix()}).Serialize()
}

func (i *issuer) counts() (signIns, renewals int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.signIns, i.renewals
}

// While somebody writes a question, the session is renewed several times. Nothing of the question is lost, and nobody
// is asked to sign in again.
func (s *site) testRenewal(t *testing.T) {
	i := startIssuer(t)
	s.stop(syscall.SIGTERM)
	s.start(t, nil, "--issuer", "url="+i.URL+",alias=corp,audience=console", "--console-issuer", i.URL, "--console-client-id", "console")
	t.Cleanup(func() {
		s.stop(syscall.SIGTERM)
		s.start(t, nil)
	})
	p := s.page(t)
	// Pages renew their session every 20 minutes. Here these go by faster, as the tokens do.
	p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{
		const set = setInterval;
		window.setInterval = (run, time, ...more) => set(run, time === 20 * 60 * 1000 ? 100 : time, ...more);
	}`}, nil)
	p.Open(s.base + "/")
	p.Write(".field input[name=q]", "Who finished the ")
	p.Run(`window.loadedOnce = true`)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, renewals := i.counts(); renewals >= 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the session is not renewed")
		}
	}
	p.Type("lighthouse?")
	if p.Run(`String(window.loadedOnce)`) != "true" {
		t.Error("the page was loaded again")
	}
	leave(p, func() { p.Press("Enter") })
	p.Wait("the question", `document.querySelector("#passages-title") && document.querySelector(".field input[name=q]").value === "Who finished the lighthouse?"`)
	if signIns, _ := i.counts(); signIns != 1 {
		t.Errorf("the browser was sent to the sign-in %d times", signIns)
	}
}
