package consoletest

import (
	"testing"

	"annals/cmd/chromiumtest"
)

// wantFocus waits until the focus is on an element that a CSS selector selects.
func wantFocus(p *chromiumtest.Page, selector string) {
	p.Helper()
	p.Wait("the focus on "+selector, `document.activeElement.matches(`+chromiumtest.Quote(selector)+`)`)
}

// closeDialog closes a dialog with Escape. The focus goes back to where it was.
func closeDialog(p *chromiumtest.Page, back string) {
	p.Helper()
	p.Press("Escape")
	p.Wait("the dialog to close", `!document.querySelector("dialog[open]")`)
	wantFocus(p, back)
}

// Folders, dialogs, documents and imports are used with the keyboard alone, and the focus is never lost.
func (s *site) testKeyboardEverywhere(t *testing.T) {
	folder := s.folderOf(t, "alice", s.ids["towers.pdf"])
	p := s.signedIn(t, "alice", "/folders/"+folder)
	p.Size(1600, 900)

	// Entries of a folder.
	p.WaitFor("tr[data-document]")
	p.Press("Tab", "j")
	wantFocus(p, "[data-list] > :first-child a")
	p.Press("j")
	wantFocus(p, "tr[data-document]:nth-child(2) a")
	p.Press("k")
	wantFocus(p, "tr[data-document]:nth-child(1) a")
	p.TabTo("tr[data-document]:nth-child(1) a.dots")
	p.Press("Enter")
	wantFocus(p, "dialog[open] input[name=name]")
	closeDialog(p, "tr[data-document]:nth-child(1) a.dots")

	// A menu, and a dialog from it.
	p.Run(`document.getElementById("main").focus()`)
	p.TabTo("main a[href^='/folders/new']")
	p.Press("Enter")
	wantFocus(p, "dialog[open] input[name=name]")
	p.Type("Never made")
	p.TabTo("dialog[open] [data-cancel]") // Tab stays in the dialog
	p.Press("Enter")
	p.Wait("the dialog to close", `!document.querySelector("dialog[open]")`)
	wantFocus(p, "main a[href^='/folders/new']")
	p.TabTo("main details.more summary")
	p.Press("Enter")
	p.Wait("the menu", `document.querySelector("main details.more").open`)
	p.Press("Escape")
	p.Wait("the menu to close", `!document.querySelector("main details.more").open`)
	wantFocus(p, "main details.more summary")
	p.Press("Enter")
	p.TabTo("main details.more a[href*='do=name']")
	p.Press("Enter")
	wantFocus(p, "dialog[open] input[name=name]")
	closeDialog(p, "main details.more summary")
	p.Press("?")
	p.WaitFor("dialog#keys[open]")
	closeDialog(p, "main details.more summary")

	// A document beside the passages.
	s.ask(p, "Who built the tower of Bell Rock?")
	p.Press("Tab", "j")
	wantFocus(p, ".passages li:first-child h3 a")
	p.Press("Enter")
	wantFocus(p, "#viewer")
	p.TabTo("#viewer a[aria-label=Larger]")
	p.Press("Enter")
	p.Wait("the enlarged page", `new URLSearchParams(location.search).get("zoom") === "150"`)
	wantFocus(p, "#viewer a[aria-label=Larger]")
	p.Press("Escape")
	p.Wait("the document to close", `!document.getElementById("viewer")`)
	wantFocus(p, ".passages li:first-child h3 a")

	// g i goes to the page of imports, where fields are reached in order.
	leave(p, func() { p.Press("g", "i") })
	p.TabTo("#import input[name=folder]")
	p.Type("By keyboard")
	p.TabTo("#import input[name=files][multiple]")
	p.Choose("#import input[name=files][multiple]", write(t, t.TempDir(), "keyboard.md", "# Keyboard\n\nThe keys of the harpsichord are black.\n"))
	p.TabTo("#import button")
	leave(p, func() { p.Press("Enter") })
	p.Wait("the end of the import", `location.pathname.startsWith("/import/") && document.querySelector("#sentence.good")`)

	job := s.jobOf(t, "alice")

	// A dialog that a drop opens.
	p.Open(s.base + "/history")
	p.TabTo("main form.filter button")
	p.Drop("main", write(t, t.TempDir(), "dropped.md", "# Dropped\n\nIt is never imported.\n"))
	wantFocus(p, "dialog[open] input[name=folder]")
	closeDialog(p, "main form.filter button")
	if now := s.jobOf(t, "alice"); now != job {
		t.Error("the drop that was cancelled has begun an import")
	}
}
