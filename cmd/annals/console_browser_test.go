package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"annals/cmd/chromiumtest"
)

// A browser signs in to the console, comes back to the page that it has asked for, and signs
// out everywhere in the browser.
func TestConsoleSignInInBrowser(t *testing.T) {
	browser := chromiumtest.Start(t, 50*time.Second).NewPage(t)
	dir := t.TempDir()
	server, err := startServer(dir, nil, "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	a := &agentTest{data: dir + "/annals-data", serverProcess: server}
	a.annals(t, agentPasswords["alice"]+"\n", "user", "add", "alice")

	const page = "/?q=half+a+question&tag=x"
	signIn := func() {
		t.Helper()
		browser.Wait("the sign-in page", `location.pathname === "/signin/authorize" && document.forms[0]?.elements.password && "yes"`)
		browser.Run(`document.forms[0].elements.username.value = "alice"; document.forms[0].elements.password.value = "` + agentPasswords["alice"] + `"; document.forms[0].querySelector("button").click()`)
	}
	// The host of the address is another one than that of the sign-in's public URL.
	host := strings.Replace(server.base, "127.0.0.1", "localhost", 1)
	browser.Open(host + page)
	signIn()
	browser.Wait("the page", `location.href === "`+host+page+`" && document.querySelector("form[action='/console/logout']") && "yes"`)
	if text := browser.Run(`document.documentElement.outerHTML + document.cookie + JSON.stringify(localStorage)`); strings.Contains(text, "eyJ") || !strings.Contains(text, "alice") {
		t.Errorf("the page contains a token, or does not name the user: %s", text)
	}
	if cookies := browser.Run(`document.cookie`); cookies != "" {
		t.Errorf("scripts can read the cookies %q", cookies)
	}
	// Another page of the same browser needs no sign-in, and one that another site opens neither.
	browser.Open("about:blank")
	browser.Open(host + page)
	browser.Wait("the page again", `location.href === "`+host+page+`" && document.querySelector("form[action='/console/logout']") && "yes"`)

	browser.Run(`document.querySelector("form[action='/console/logout'] button").click()`)
	browser.Wait("the page after signing out", `location.pathname === "/console/logout" && document.querySelector("h1")?.textContent === "You are signed out" && "yes"`)
	browser.Run(`document.querySelector("a[href^='/console/login']").click()`)
	signIn()
	browser.Wait("the first page", `location.href === "`+host+`/" && document.querySelector("form[action='/console/logout']") && "yes"`)
}
