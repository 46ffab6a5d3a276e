package consoletest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"annals/events/failpoint"
)

// Nothing that somebody has typed is lost when the sign-in ends.
func (s *site) testSignInEnds(t *testing.T) {
	p := s.signedIn(t, "alice", "/")
	p.Allow("status of 401")
	signInAgain := func() {
		p.Write("input[name=username]", "alice")
		p.Write("input[name=password]", passwords["alice"])
		p.Press("Enter")
	}
	// A question that is half written is still there after loading the page again.
	p.Write(".field input[name=q]", "Who finished the light")
	p.Open(s.base + "/folders")
	p.Open(s.base + "/")
	p.Wait("the half question", `document.querySelector(".field input[name=q]").value === "Who finished the light"`)
	// It is sent after the sign-in has ended.
	p.Call("Network.clearBrowserCookies", nil, nil)
	p.Write(".field input[name=q]", "Who finished the lighthouse at Eddystone?")
	p.Press("Enter")
	signInAgain()
	p.WaitText("John Smeaton")
	p.Wait("the question", `document.querySelector(".field input[name=q]").value === "Who finished the lighthouse at Eddystone?"`)
	// The same for a form that changes something.
	p.Open(s.base + "/folders/new")
	p.Write("main input[name=name]", "Typed before the end")
	p.Call("Network.deleteCookies", map[string]any{"name": "annals_console", "url": s.base}, nil)
	p.Press("Enter")
	p.WaitText("Nothing that you typed is lost")
	if kept := p.Run(`document.querySelector("main form input[name=name]").value`); kept != "Typed before the end" {
		t.Errorf("the form has kept %q", kept)
	}
}

// What is typed in one tab is not lost when another signs the browser out. After signing in again there, it is sent.
func (s *site) testTwoTabs(t *testing.T) {
	p := s.signedIn(t, "alice", "/folders")
	p.Allow("status of 401")
	other := p.NewTab()
	other.Open(s.base + "/account")
	p.Click("main a[href='/folders/new']")
	p.Write("dialog[open] input[name=name]", "Of two tabs")

	other.Click("details.who summary")
	leave(other, func() { other.Click("form[action='/console/logout'] button") })
	other.Open(s.base + "/folders")
	other.WaitFor("input[name=username]")

	p.Press("Enter")
	p.WaitText("Your sign-in has ended.")
	if kept := p.Run(`document.querySelector("dialog[open] input[name=name]").value`); kept != "Of two tabs" {
		t.Errorf("the dialog has kept %q", kept)
	}
	other.Write("input[name=username]", "alice")
	other.Write("input[name=password]", passwords["alice"])
	other.Press("Enter")
	other.Wait("the folders", `location.pathname === "/folders" && document.querySelector("main h1")`)
	leave(p, func() { p.Click("dialog[open] button:not(.plain)") })
	p.WaitText("The folder was created.")
	p.WaitText("Of two tabs")
}

// A colleague who gets the address of a passage sees what he may read: first nothing of the document, and once the
// folder is shared with him, the same passage.
func (s *site) testSentLink(t *testing.T) {
	id := s.importFiles(t, "alice", imported{"tariff.md", "Tariffs", "# Tariff\n\nThe pilot of the estuary is paid ninety crowns.\n", []string{"pilotage"}})["tariff.md"]
	alice := s.signedIn(t, "alice", "/")
	alice.Size(1600, 900)
	s.ask(alice, "What is the pilot of the estuary paid?")
	alice.Click("#answer .cites a")
	alice.WaitFor("#viewer #hit")
	sent := strings.TrimPrefix(alice.Run("location.href"), s.base)

	bob := s.signedIn(t, "bob", sent)
	bob.WaitText("The document cannot be shown")
	if page := bob.HTML() + bob.Run("document.documentElement.outerHTML"); strings.Contains(page, "ninety") || strings.Contains(page, "Tariff") || strings.Contains(page, "tariff.md") || strings.Contains(page, "pilotage") {
		t.Errorf("the page of bob has words of the document: %s", page)
	}
	folder := s.folderOf(t, "alice", id)
	alice.Open(s.base + "/folders/" + folder + "/share")
	alice.Write("main input[name=who]", "bob")
	send(alice, "main form.card")
	bob.Open(s.base + "/folders")
	leave(bob, func() { bob.Click("form[action='/invitations/" + folder + "'] button[value=accept]") })
	bob.Open(s.base + sent)
	bob.WaitFor("#viewer #hit")
	if marked := bob.Run(`[...document.querySelectorAll("#viewer mark")].map(e => e.innerText).join(" ")`); !strings.Contains(marked, "ninety crowns") {
		t.Errorf("the words marked for bob are %q", marked)
	}
}

// A server is killed in the middle of an import and started again. The page of the import ends
// with the right state, and nobody has to load it again.
func (s *site) testServerIsKilled(t *testing.T) {
	if !failpoint.Enabled {
		t.Skip("the tests are built without failpoints")
	}
	const files, filed = 20, 12 // the browser has the page of the import before so many are filed
	dir := t.TempDir()
	var names []string
	for n := range files {
		names = append(names, filepath.Join(dir, fmt.Sprintf("killed-%d.md", n)))
		if err := os.WriteFile(names[n], fmt.Appendf(nil, "# Note %d\n\nA note about number %[1]d.\n", n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := s.signedIn(t, "alice", "/")
	p.Allow("net::ERR_", "status of 50", "status of 401")
	s.stop(syscall.SIGTERM)
	s.start(t, []string{failpoint.Variable + "=" + string(failpoint.DocumentFiled) + ":3"}, "--workers", "1")
	p.Open(s.base + "/import")
	p.Write("main input[name=folder]", "Killed")
	p.Choose("main input[name=files][multiple]", names...)
	p.Click("main form button")
	select {
	case <-s.ended:
		s.ended <- nil
	case <-time.After(time.Minute):
		t.Fatal("the server does not reach the failpoint")
	}
	open := p.Run(`String(location.pathname.startsWith("/import/") && !!document.querySelector("[data-live]"))`) == "true"
	p.Run(`window.loadedOnce = true`)
	s.start(t, nil)
	if !open { // on a busy machine, the server may be killed before the browser has the page
		p.Open(s.base + "/import/" + s.jobOf(t, "alice"))
		p.Run(`window.loadedOnce = true`)
	}
	p.Wait("the end of the import", `document.querySelector("#sentence.good")`)
	for n := range files {
		p.WaitText(fmt.Sprintf("killed-%d.md", n))
	}
	if p.Run(`String(window.loadedOnce)`) != "true" {
		t.Error("the page was loaded again")
	}
	if text := p.Run(`document.getElementById("sentence").textContent`); text == "" || p.Run(`document.querySelectorAll("[data-part=failed] li").length`) != "0" {
		t.Errorf("the import ends with %q", text)
	}
	if shown := p.Run(`document.querySelectorAll("[data-part=done] li").length`); shown != fmt.Sprint(files) {
		t.Errorf("%s files are done, want %d", shown, files)
	}
}
