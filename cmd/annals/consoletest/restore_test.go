package consoletest

import (
	"strings"
	"testing"
)

// A deletion is undone from the line that tells it, or from the page of the deleted document, with scripts and without.
func (s *site) testUndo(t *testing.T) {
	all := s.importFiles(t, "alice", imported{"plover.md", "Undone", "# Plover\n\nThe plover nests on shingle.\n", nil}, imported{"dunlin.md", "Undone", "# Dunlin\n\nThe dunlin winters on mudflats.\n", nil})
	folder := s.folderOf(t, "alice", all["plover.md"])
	p := s.signedIn(t, "alice", "/documents/"+all["plover.md"])
	follow := func(name string) {
		t.Helper()
		p.Wait("the end of the import", `document.querySelector("#sentence.good")`)
		follow(p, name)
	}
	p.Click("nav.actions details summary")
	p.Click("nav.actions a[href$='do=delete']")
	p.WaitFor("dialog[open] form")
	leave(p, func() { p.Click("dialog[open] button.bad") })
	p.WaitText("plover.md was deleted.")
	if at := p.Run("location.pathname + location.search"); at != "/folders/"+folder {
		t.Errorf("after the deletion the address is %s, want that of the folder alone", at)
	}
	leave(p, func() { p.Click("form[action$='/restore'] button") })
	follow("plover.md")
	p.WaitText("The plover nests on shingle.")
	if at := p.Run("location.pathname"); strings.HasSuffix(at, all["plover.md"]) {
		t.Errorf("the restored document is at %s, as the deleted one was", at)
	}

	p.Scripts(false)
	p.Open(s.base + "/documents/" + all["dunlin.md"] + "/change?do=delete")
	send(p, "main form[action$='/change']")
	p.WaitText("dunlin.md was deleted.")
	p.Allow("status of 410")
	p.Open(s.base + "/history")
	leave(p, func() { p.Click("a[href$='" + all["dunlin.md"] + "']") })
	p.WaitText("This document was deleted")
	leave(p, func() { p.Click("form[action$='/restore'] button") })
	follow("dunlin.md")
	p.WaitText("The dunlin winters on mudflats.")
	p.Open(s.base + "/documents/" + all["dunlin.md"])
	leave(p, func() { p.Click("main a.button") })
	p.WaitText("The dunlin winters on mudflats.")
}
