package consoletest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/cmd/chromiumtest"
)

// write writes a file that can be imported, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// containsAll reports whether a text contains all parts.
func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// follow clicks a link with a text, and waits until the page to which it leads is loaded.
func follow(p *chromiumtest.Page, text string) {
	p.Helper()
	p.Wait("a link "+text, `(() => {
		const a = [...document.querySelectorAll("main a")].find(a => a.textContent.trim() === `+chromiumtest.Quote(text)+`);
		for (let e = a; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
		if (!a?.checkVisibility()) return "";
		document.querySelectorAll("[data-followed]").forEach(e => delete e.dataset.followed);
		a.dataset.followed = "";
		return true;
	})()`)
	leave(p, func() { p.Click("[data-followed]") })
}

// leave does something that leads to another page, and waits until that is loaded.
func leave(p *chromiumtest.Page, do func()) {
	p.Helper()
	p.Run(`window.left = false`)
	do()
	p.Wait("another page", `window.left === undefined`)
}

// send presses the button of the form of a page.
func send(p *chromiumtest.Page, form string) {
	p.Helper()
	leave(p, func() { p.Click(form + " button:not(.plain)") })
	if refused := p.Run(`[...document.querySelectorAll("[role=alert]")].map(e => e.innerText).join()`); refused != "" {
		p.Fatalf("the form %s is refused: %s", form, refused)
	}
}

// In a browser without scripts people import, ask, read, browse, tag, rename, move, share, replace, compare and delete.
func (s *site) testFormsWithoutScript(t *testing.T) {
	const change = "main form[action$='/change']"
	dir := t.TempDir()
	alice := s.signedIn(t, "alice", "/")
	alice.Scripts(false)

	// Import.
	alice.Open(s.base + "/import")
	alice.Write("main input[name=folder]", "Plain pages")
	alice.Write("main input[name=tags]", "plain")
	alice.Choose("main input[name=files][multiple]", write(t, dir, "kestrel.md", "# Kestrel\n\nThe kestrel hovers over the meadow.\n\nIt eats voles.\n"))
	send(alice, "#import")
	if at := alice.Run("location.pathname"); !strings.HasPrefix(at, "/import/") {
		t.Fatalf("the form leads to %s", at)
	}
	alice.Wait("the end of the import", `document.querySelector("#sentence.good")`) // the page loads itself again
	follow(alice, "kestrel.md")
	alice.WaitText("It eats voles.")
	document := alice.Run("location.pathname")

	// Ask, and open the passage that answers.
	alice.Open(s.base + "/")
	alice.Write(".field input[name=q]", "What does the kestrel hover over?")
	leave(alice, func() { alice.Click(".field button") })
	alice.WaitText("hovers over the meadow")
	leave(alice, func() { alice.Click(".passages h3 a") })
	if marked := alice.Wait("the passage", `document.querySelector("#viewer #hit")?.innerText`); marked == "" {
		t.Error("the passage is not marked")
	}

	// Browse.
	alice.Open(s.base + "/folders")
	follow(alice, "Plain pages")
	folder := alice.Run("location.pathname")
	follow(alice, "kestrel.md")
	if at := alice.Run("location.pathname"); at != document {
		t.Errorf("the entry of the folder leads to %s, want %s", at, document)
	}

	// Tag and rename.
	follow(alice, "Tags")
	alice.Write(change+" input[name=add]", "falcon, bird")
	send(alice, change)
	alice.WaitText("The tags were changed.")
	follow(alice, "falcon")
	alice.WaitText("Only in documents with the tag falcon")
	alice.Open(s.base + "/folders?tag=falcon")
	follow(alice, "kestrel.md")
	follow(alice, "Rename")
	alice.Write(change+" input[name=name]", "falcon.md")
	send(alice, change)
	alice.WaitText("The name was changed.")

	// Move to a new folder.
	alice.Open(s.base + folder)
	follow(alice, "New folder")
	alice.Write("main input[name=name]", "Nests")
	send(alice, "main form[action='/folders/new']")
	alice.WaitText("The folder was created.")
	nests := alice.Run("location.pathname")
	alice.Open(s.base + document)
	follow(alice, "Move")
	follow(alice, "Nests")
	send(alice, change)
	alice.WaitText("It was moved.")
	alice.Open(s.base + nests)
	alice.WaitText("falcon.md")

	// Share: bob is invited, accepts, and reads.
	alice.Open(s.base + folder + "/share")
	alice.Write("main input[name=who]", "bob")
	send(alice, "main form.card")
	alice.WaitText("has not accepted yet")
	bob := s.signedIn(t, "bob", "/folders")
	bob.Scripts(false)
	bob.Open(s.base + "/folders")
	bob.WaitText("shares the folder Plain pages with you")
	leave(bob, func() { bob.Click("form[action^='/invitations/'] button[value=accept]") })
	bob.Open(s.base + document)
	bob.WaitText("hovers over the meadow")

	// New content, and what it changed.
	alice.Open(s.base + document)
	follow(alice, "New content")
	alice.Choose(change+" input[name=file]", write(t, dir, "new.md", "# Kestrel\n\nThe kestrel hovers over the motorway.\n\nIt eats voles.\n"))
	send(alice, change)
	for range 100 { // reading it may take longer than the reply waits
		if alice.Open(s.base + document); alice.Run(`document.body.innerText.includes("motorway")`) == "true" {
			break
		}
	}
	alice.WaitText("hovers over the motorway")
	follow(alice, "History")
	follow(alice, "What changed in the text")
	if changed := alice.Run(`[...document.querySelectorAll("#difference del, #difference ins")].map(e => e.tagName + " " + e.innerText.trim()).join()`); changed != "DEL meadow,INS motorway" {
		t.Errorf("the difference is %q", changed)
	}
	leave(alice, func() { alice.Click(".versions #v1 + div a[href$='?version=1']") })
	alice.WaitText("hovers over the meadow")
	follow(alice, "Show the document as it is now")
	alice.WaitText("hovers over the motorway")
	follow(alice, "History")
	follow(alice, "All that was done with this document")
	alice.WaitText("kestrel.md")

	// Delete the document, then rename and delete the folder.
	alice.Open(s.base + document + "/change?do=delete")
	send(alice, change)
	alice.WaitText("deleted")
	alice.Allow("status of 404", "status of 410")
	alice.Open(s.base + document)
	if text := alice.Run(`document.querySelector("main").innerText`); strings.Contains(text, "motorway") {
		t.Errorf("the page of the deleted document has %q", text)
	}
	alice.Open(s.base + folder)
	follow(alice, "Rename")
	alice.Write(change+" input[name=name]", "Plain pages of old")
	send(alice, change)
	alice.WaitText("The name was changed.")
	follow(alice, "Delete")
	send(alice, change)
	alice.WaitText("deleted")
	alice.Open(s.base + "/folders")
	if text := alice.Run(`document.querySelector("main").innerText`); strings.Contains(text, "Plain pages") {
		t.Errorf("the deleted folder is listed: %s", text)
	}
	alice.Open(s.base + "/history")
	for _, text := range []string{"falcon.md", "Nests", "Plain pages of old"} {
		alice.WaitText(text)
	}
}
