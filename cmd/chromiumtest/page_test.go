package chromiumtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every kind of fault of a page is noticed, unless it is allowed.
func TestFaultsOfPages(t *testing.T) {
	pages := map[string]string{
		"/policy":  `<p>The policy forbids this:</p><script>window.pwned = true</script>`,
		"/style":   `<p style="color: red">The policy forbids this, too.</p>`,
		"/script":  `<script type="module" src="/throws.js"></script>`,
		"/console": `<script type="module" src="/logs.js"></script>`,
		"/missing": `<img src="/nowhere.png" alt="">`,
		"/sound":   `<p>There is nothing wrong.</p>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		w.Header().Set("Content-Type", "text/javascript")
		switch r.URL.Path {
		case "/throws.js":
			_, _ = io.WriteString(w, `throw new Error("an error")`)
		case "/logs.js":
			_, _ = io.WriteString(w, `console.error("a message")`)
		default:
			text, found := pages[r.URL.Path]
			if !found {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Test</title>`+text)
		}
	}))
	defer server.Close()
	browser := Start(t, time.Minute)
	for path, want := range map[string]string{
		"/policy": "Content Security Policy", "/style": "Content Security Policy", "/script": "an error", "/console": "a message", "/missing": "404", "/sound": "",
	} {
		p := browser.NewPage(t)
		p.Allow("'data:,'")
		p.Open(server.URL + path)
		p.Wait("the page", `document.title === "Test"`)
		faults := p.Faults()
		if want == "" && len(faults) > 0 || want != "" && !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("the faults of %s are %q, want %q", path, faults, want)
		}
		if want != "" {
			p.Allow(want)
		}
	}
}

// Files and folders can be dropped, elements dragged, keys pressed and dialogs answered.
func TestInput(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<!doctype html><title>Test</title><input id=a><input id=f type=file multiple><button onclick="said = confirm('Really?')">Ask</button><main style="height: 200px">Drop here</main><p draggable=true>Drag this</p>
<script>
const names = [];
addEventListener("keydown", e => names.push(e.key));
addEventListener("dragstart", e => e.dataTransfer.setData("text/plain", " " + e.target.innerText));
addEventListener("dragover", e => e.preventDefault());
addEventListener("drop", e => {
	e.preventDefault();
	window.dragged = e.target.tagName + e.dataTransfer.getData("text/plain");
	window.dropped = [...e.dataTransfer.items].map(i => i.webkitGetAsEntry()).filter(Boolean).map(e => e.name + (e.isDirectory ? "/" : "")).join(" ");
});
</script>`)
	}))
	defer server.Close()
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "note.md"), filepath.Join(dir, "folder")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	p := Start(t, time.Minute).NewPage(t)
	p.Open(server.URL)
	p.Drop("main", file, folder)
	p.Wait("the dropped files", `window.dropped === "note.md folder/"`)
	p.Drag("p", "main")
	p.Wait("the dragged element", `window.dragged === "MAIN Drag this"`)
	p.Choose("#f", file)
	p.Wait("the chosen file", `document.getElementById("f").files[0]?.name === "note.md"`)
	p.Write("#a", "text")
	p.Press("Shift+Tab", "x", "?", "Escape")
	p.Wait("the text and the keys", `document.getElementById("a").value === "text" && names.join() === "Tab,x,?,Escape"`)
	p.Dialogs(false)
	p.Click("button")
	p.Wait("the reply", `said === false`)
	if asked := p.Dialogs(true); !slices.Equal(asked, []string{"Really?"}) {
		t.Errorf("the page asked %q", asked)
	}
}
