package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/cmd/chromiumtest"

	"github.com/pquerna/otp/totp"
)

// If a user who is not signed in opens a link to a page of a document, the browser
// shows that page after the sign-in with a second factor.
func TestLinkOpensPageInBrowser(t *testing.T) {
	const page = "#page=29"
	browser := chromiumtest.Start(t, 50*time.Second).NewPage(t)
	dir := t.TempDir()
	a := &agentTest{data: filepath.Join(dir, "annals-data")}
	writeFile(t, dir, "reports/report.pdf", string(writePDF(pdfLines([]string{"The revenue of the second quarter rose."}), 40)))
	server, err := startServer(dir, nil, "--log-level", "warn", "--require-second-factor")
	if err != nil {
		t.Fatal(err)
	}
	a.serverProcess = server
	t.Cleanup(func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	a.annals(t, agentPasswords["alice"]+"\n", "user", "add", "alice")
	a.annals(t, "", "import", "--user", "alice", filepath.Join(dir, "reports"))
	var found struct{ Sources []struct{ URL string } }
	token, err := issueToken(a.data, "alice")
	if err != nil {
		t.Fatal(err)
	}
	status, reply, err := server.send(token, "POST", "/core/search", "application/json", `{"query": "revenue of the second quarter"}`)
	if err == nil {
		err = json.Unmarshal(reply, &found)
	}
	if err != nil || len(found.Sources) == 0 {
		t.Fatalf("search = %d %s, %v", status, reply, err)
	}
	link, _, _ := strings.Cut(found.Sources[0].URL, "#")
	if !strings.HasPrefix(link, a.base+"/documents/") || !strings.HasSuffix(link, ".pdf") {
		t.Fatalf("the address is %s", link)
	}

	signIn := func() {
		t.Helper()
		browser.Open(link + page)
		browser.Wait("the sign-in page", `document.forms[0]?.elements.password && location.hash === "`+page+`"`)
		browser.Run(`document.forms[0].elements.username.value = "alice"; document.forms[0].elements.password.value = "` + agentPasswords["alice"] + `"; document.forms[0].querySelector("button").click()`)
	}
	shown := func() {
		t.Helper()
		browser.Wait("the document", `location.href === "`+link+page+`" && document.contentType === "application/pdf"`)
	}
	// At the first sign-in the user has to set up a second factor.
	signIn()
	secret := browser.Wait("the page of a new secret", `document.querySelector(".secret")?.textContent`)
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	browser.Run(`document.forms[0].elements.code.value = "` + code + `"; document.forms[0].querySelector("button").click()`)
	recovery := browser.Wait("the page of recovery codes", `document.querySelector(".codes code")?.textContent`)
	browser.Run(`document.querySelector("a.onward").click()`)
	shown()
	// Now that the user is signed in, the link opens the page without a sign-in.
	browser.Open("about:blank")
	browser.Open(link + page)
	shown()
	// A browser without the cookies needs the second factor again.
	browser.Call("Network.clearBrowserCookies", nil, nil)
	browser.Open("about:blank")
	signIn()
	browser.Wait("the page of the second factor", `document.forms[document.forms.length - 1]?.elements.code && location.hash === "`+page+`"`)
	browser.Run(`{const form = document.forms[document.forms.length - 1]; form.elements.code.value = "` + recovery + `"; form.querySelector("button").click()}`)
	shown()
}
