package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"annals/cmd/chromiumtest"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/provider"
)

// If a user opens a link to a page of a document, the browser also shows that page
// after a sign-in with a passkey, both instead of the password and as the second
// factor.
func TestPasskeySignInOpensPage(t *testing.T) {
	const link, page, password = "/documents/0b8d5a3e-3ad5-4f57-9d0e-3f1b8c0a6c11.pdf", "#page=29", "a lighthouse keeper"
	browser := chromiumtest.Start(t, 50*time.Second).NewPage(t)
	store, err := accounts.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if _, err := store.Create(t.Context(), accounts.NewAccount{Name: "alice", Password: password}); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	live := httptest.NewServer(mux)
	t.Cleanup(live.Close)
	base := strings.Replace(live.URL, "127.0.0.1", "localhost", 1) // browsers do not allow passkeys for IP addresses
	issuer, err := signin.NewIssuer(store, signin.IssuerOptions{URL: base + "/signin"})
	if err != nil {
		t.Fatal(err)
	}
	provider, err := provider.New(issuer, provider.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	mux.Handle("/signin/", provider)
	mux.HandleFunc("/documents/", func(w http.ResponseWriter, r *http.Request) { // redirects to the sign-in like the real server
		user, found, err := provider.Reader(r)
		if err != nil || !found {
			http.Redirect(w, r, "/signin/document?to="+r.URL.Path, http.StatusSeeOther)
			return
		}
		_, _ = w.Write([]byte("read by " + user.Principal))
	})

	browser.Call("WebAuthn.enable", map[string]any{}, nil)
	browser.Call("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true,
	}}, nil)
	const passwordField = `document.forms[0]?.elements.password`
	typePassword := `document.forms[0].elements.username.value = "alice"; document.forms[0].elements.password.value = "` + password + `"; document.forms[0].querySelector("button").click()`
	const add = `document.querySelector('form[action$="/security/passkey"]')`
	browser.Open(base + "/signin/security")
	browser.Wait("the sign-in page", passwordField+" && !"+add)
	browser.Run(typePassword)
	browser.Wait("the page of passkeys", add+` && !document.querySelector(".passkey").hidden`)
	browser.Run(`{const form = ` + add + `; form.elements.password.value = "` + password + `"; form.elements.name.value = "laptop"; form.querySelector("button").click()}`)
	browser.Wait("the new passkey", `document.body.innerText.includes("laptop")`)

	shown := `location.href === "` + base + link + page + `" && document.body.innerText === "read by user:alice"`
	const use = `document.querySelector('form[action*="/passkey"] button').click()`
	for what, second := range map[string]bool{"in place of the password": false, "as the second factor": true} {
		if second {
			if err := store.RequireFactor(t.Context(), "alice", true); err != nil {
				t.Fatal(err)
			}
		}
		browser.Call("Network.clearBrowserCookies", nil, nil)
		browser.Open("about:blank")
		browser.Open(base + link + page)
		browser.Wait("the sign-in page", passwordField+` && !document.querySelector(".passkey").hidden`)
		if second {
			browser.Run(typePassword)
			browser.Wait("the page of the second factor", `document.querySelector('form[action*="/second"]') && !document.querySelector(".passkey").hidden`)
		}
		browser.Run(use)
		browser.Wait("the document by a passkey "+what, shown)
	}
}
