package consoletest

import (
	"fmt"
	"os"
	"path/filepath"
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

// A server is killed in the middle of an import and started again. The page of the import ends
// with the right state, and nobody has to load it again.
func (s *site) testServerIsKilled(t *testing.T) {
	if !failpoint.Enabled {
		t.Skip("the tests are built without failpoints")
	}
	const files = 6
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
	p.Wait("the page of the import", `location.pathname.startsWith("/import/")`)
	p.Run(`window.loadedOnce = true`)
	s.start(t, nil)
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
