package consoletest

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder that is dropped is imported with the folders in it, and what cannot be imported is named.
func (s *site) testDropOfFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Voyages")
	for _, folder := range []string{"north/1872", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "plan.md", "# Plan\n\nThe ship sails in May.\n")
	write(t, dir, "north/1872/log.md", "# Log\n\nThe ship met ice in June.\n")
	write(t, dir, "chart.xyz", "no document")
	write(t, dir, ".hidden.md", "# Hidden\n")
	p := s.signedIn(t, "alice", "/folders")
	p.Drop("main", dir)
	p.WaitFor("dialog[open] input[name=folder]")
	p.Write("dialog[open] input[name=folder]", "Dropped")
	if text := p.Run(`document.querySelector("dialog[open]").textContent`); !containsAll(text, "Import 2 files", "2 files left out", "chart.xyz", ".hidden.md") {
		t.Errorf("the dialog says %q", text)
	}
	p.Press("Enter")
	p.Wait("the end of the import", `document.getElementById("dock").innerText.includes("2 of 2 files imported")`)
	leave(p, func() { p.Click("#dock a") })
	p.Wait("the end of the import", `document.querySelector("#sentence.good")`)
	for name, folder := range map[string]string{"plan.md": "Dropped/Voyages", "log.md": "Dropped/Voyages/north/1872"} {
		if text := p.Run(`[...document.querySelectorAll("[data-part=done] li")].find(e => e.innerText.includes("` + name + `"))?.innerText`); !containsAll(text, folder) {
			t.Errorf("the entry of %s is %q, want the folder %s", name, text, folder)
		}
	}
	p.Open(s.base + "/folders")
	for _, name := range []string{"Dropped", "Voyages", "north", "1872", "log.md"} {
		follow(p, name)
	}
	p.WaitText("The ship met ice in June.")
}

// A row that is dragged onto a folder is moved there, and "Undo" moves it back. One that is dragged onto its own folder
// stays.
func (s *site) testDragOfRows(t *testing.T) {
	id := s.importFiles(t, "alice", imported{"dragged.md", "Dragged", "# Dragged\n\nA sledge is dragged.\n", nil}, imported{"other.md", "Dragged/Below", "# Other\n\nAnother sledge.\n", nil})["dragged.md"]
	from := s.folderOf(t, "alice", id)
	p := s.signedIn(t, "alice", "/folders/"+from)
	row, below := "tr[data-document='"+id+"']", "ul.folders li[data-folder]"
	p.WaitFor(row)
	p.Run(`window.loadedOnce = true`)
	p.Drag(row+" td:nth-child(2)", ".tree a[aria-current=page]")
	p.Drag(row+" td:nth-child(2)", below)
	p.Wait("the message", `document.getElementById("toasts").innerText.includes("Moved to Below.")`)
	if there := p.Run(`!!document.querySelector("` + row + `")`); there != "false" {
		t.Error("the row that was moved is shown still")
	}
	if now := s.folderOf(t, "alice", id); now == from {
		t.Error("the document is where it was")
	}
	if asked := p.Run(`String(window.loadedOnce)`); asked != "true" {
		t.Error("the page was loaded again")
	}
	leave(p, func() { p.Click("#toasts button") })
	p.WaitFor(row)
	if now := s.folderOf(t, "alice", id); now != from {
		t.Errorf("after Undo the document is in %s, want %s", now, from)
	}
	p.Open(s.base + "/documents/" + id + "/history")
	for _, text := range []string{"Moved from Dragged to Below", "Moved from Below to Dragged"} {
		p.WaitText(text)
	}
	if versions := p.Run(`document.querySelectorAll(".versions > li").length`); versions != "3" {
		t.Errorf("there are %s versions, want 3", versions)
	}
}
