package consoletest

import (
	"maps"
	"net/url"
	"strings"
	"testing"

	"annals/cmd/chromiumtest"
)

// TestConsole uses the web pages of one server with one browser.
func TestConsole(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	t.Run("Newcomer", s.testNewcomer)
	t.Run("Rights", s.testRights)
	t.Run("WithoutScript", s.testWithoutScript)
	t.Run("FormsWithoutScript", s.testFormsWithoutScript)
	t.Run("Undo", s.testUndo)
	t.Run("Keyboard", s.testKeyboard)
	t.Run("KeyboardEverywhere", s.testKeyboardEverywhere)
	t.Run("StalledStream", s.testStalledStream)
	t.Run("DropOfFolder", s.testDropOfFolder)
	t.Run("DragOfRows", s.testDragOfRows)
	t.Run("HostileContent", s.testHostileContent)
	t.Run("Accessibility", s.testAccessibility)
	t.Run("Service", s.testService)
	t.Run("Rebuild", s.testRebuild)
	t.Run("Times", s.testTimes)
	t.Run("SignInEnds", s.testSignInEnds)
	t.Run("Renewal", s.testRenewal)
	t.Run("TwoTabs", s.testTwoTabs)
	t.Run("SentLink", s.testSentLink)
	t.Run("ServerIsKilled", s.testServerIsKilled)
}

// fill imports the documents that all tests use.
func (s *site) fill(t *testing.T) {
	t.Helper()
	s.ids = s.importFiles(t, "alice",
		imported{"eddystone.md", "Lighthouses", "# Eddystone\n\nThe lighthouse at Eddystone was finished in 1759 by John Smeaton.\n", []string{"granite"}},
		imported{"fastnet.md", "Lighthouses", "# Fastnet\n\nThe lighthouse on Fastnet Rock was lit in 1854.\n", nil},
		imported{"towers.pdf", "Lighthouses", pdf("Towers", "The tower of Bell Rock was built by Robert Stevenson in 1810.", "It stands off the coast of Angus."), nil})
	maps.Copy(s.ids, s.importFiles(t, "bob",
		imported{"lenin.md", "Icebreakers", "# Lenin\n\nThe icebreaker Lenin had the passphrase walrus.\n", []string{"polarsecret"}}))
}

// page opens a tab in which nobody is signed in.
func (s *site) page(t testing.TB) *chromiumtest.Page {
	t.Helper()
	p := s.browser.NewPage(t)
	return p
}

// signedIn opens an address in a new tab, and signs in when it is asked to.
func (s *site) signedIn(t testing.TB, user, path string) *chromiumtest.Page {
	t.Helper()
	p := s.page(t)
	p.Open(s.base + path)
	p.Write("input[name=username]", user)
	p.Write("input[name=password]", passwords[user])
	p.Press("Enter")
	p.Wait("the page "+path, `location.pathname + location.search === `+chromiumtest.Quote(path)+` && document.querySelector("main")`)
	return p
}

// ask opens the page of a question.
func (s *site) ask(p *chromiumtest.Page, question string) {
	p.Open(s.base + "/?" + url.Values{"q": {question}}.Encode())
	p.WaitFor("#passages-title")
}

// Two people with different rights look at the same pages at the same time. Nothing that one
// may not see is in the pages of the other.
func (s *site) testRights(t *testing.T) {
	secrets := []string{"Icebreakers", "lenin.md", "walrus", "polarsecret", s.ids["lenin.md"], "user:bob"}
	alice, bob := s.signedIn(t, "alice", "/"), s.signedIn(t, "bob", "/")
	for _, path := range []string{"/", "/?q=passphrase+of+the+icebreaker+Lenin", "/?q=icebreaker&folder=Icebreakers", "/?q=walrus&tag=polarsecret", "/history", "/history?who=bob", "/folders", "/folders?tag=polarsecret", "/import", "/account"} {
		alice.Open(s.base + path)
		bob.Open(s.base + path)
		own, _ := url.Parse(path)
		for _, text := range []string{alice.HTML(), alice.Run("document.documentElement.outerHTML")} {
			for _, secret := range secrets {
				if strings.Contains(text, secret) && !strings.Contains(own.RawQuery, secret) {
					t.Errorf("the page %s of alice has %q", path, secret)
				}
			}
		}
	}
	s.ask(bob, "What was the passphrase of the icebreaker Lenin?")
	if text := bob.Run("document.body.innerText"); !strings.Contains(text, "walrus") {
		t.Errorf("bob does not see his own document: %s", text)
	}
	alice.Allow("status of 404", "status of 403")
	for _, path := range []string{"/documents/" + s.ids["lenin.md"], "/documents/" + s.ids["lenin.md"] + "/history", "/documents/" + s.ids["lenin.md"] + "/change?do=name", "/?q=walrus&open=" + s.ids["lenin.md"],
		"/folders/" + s.folderOf(t, "bob", s.ids["lenin.md"]), "/folders/" + s.folderOf(t, "bob", s.ids["lenin.md"]) + "/share", "/import/" + s.jobOf(t, "bob"), "/history?document=" + s.ids["lenin.md"], "/admin"} {
		alice.Open(s.base + path)
		if text := alice.Run("document.documentElement.outerHTML"); strings.Contains(text, "lenin.md") || strings.Contains(text, "Icebreakers") || strings.Contains(text, "polarsecret") || strings.Contains(text, "passphrase") {
			t.Errorf("the page %s of alice shows the document of bob: %s", path, text)
		}
	}
}

// Signing in, asking and looking into an answer work in a browser without scripts.
func (s *site) testWithoutScript(t *testing.T) {
	p := s.page(t)
	p.Scripts(false)
	p.Open(s.base + "/")
	p.Write("input[name=username]", "alice")
	p.Write("input[name=password]", passwords["alice"])
	p.Click("form button")
	p.WaitFor(".field input[name=q]")
	p.Write(".field input[name=q]", "Who finished the lighthouse at Eddystone?")
	p.Click(".field button")
	p.WaitText("John Smeaton")
	p.WaitFor(".answer.sure, .answer")
}

// Everything can be reached with the keyboard alone.
func (s *site) testKeyboard(t *testing.T) {
	p := s.page(t)
	p.Open(s.base + "/")
	p.WaitFor("input[name=username]")
	p.TabTo("input[name=username]")
	p.Type("alice")
	p.TabTo("input[name=password]")
	p.Type(passwords["alice"])
	p.Press("Enter")
	p.WaitFor("main .field input[name=q]")
	p.Wait("the focus in the field", `document.activeElement.name === "q"`)
	p.Type("Who finished the lighthouse at Eddystone?")
	p.Press("Enter")
	p.WaitText("John Smeaton")
	p.Press("Tab", "Shift+Tab") // the first key goes to the page
	p.Press("?")
	p.WaitFor("dialog#keys[open]")
	p.Press("Escape")
	p.Wait("the dialog to close", `!document.querySelector("dialog[open]")`)
	p.Press("j")
	p.Wait("the focus on the first passage", `document.activeElement.closest(".passages")`)
	p.Press("/")
	p.Wait("the focus in the field", `document.activeElement.name === "q"`)
}
