package consoletest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/cmd/chromiumtest"
)

// pages returns the paths of all kinds of pages of a user, with the documents whose ids are
// given.
func (s *site) pages(t *testing.T, user string, documents map[string]string) []string {
	t.Helper()
	all := []string{"/", "/?q=lighthouse", "/folders", "/folders/new", "/import", "/import/" + s.jobOf(t, user), "/history", "/account"}
	folders := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		id := documents[name]
		all = append(all, "/documents/"+id, "/documents/"+id+"/history", "/documents/"+id+"/change?do=name", "/documents/"+id+"/change?do=move", "/documents/"+id+"/change?do=tags", "/documents/"+id+"/change?do=delete")
		if folder := s.folderOf(t, user, id); !folders[folder] {
			folders[folder] = true
			all = append(all, "/folders/"+folder, "/folders/"+folder+"/change?do=name", "/folders/"+folder+"/change?do=move", "/folders/"+folder+"/change?do=delete", "/folders/"+folder+"/share")
		}
	}
	// Pages that this release does not have are left out.
	return slices.DeleteFunc(all, func(path string) bool { return s.missing(t, path) })
}

// missing reports whether the server has no page at a path: it then does not send visitors to
// the sign-in.
func (s *site) missing(t *testing.T, path string) bool {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	reply, err := client.Get(s.base + path)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	return reply.StatusCode == http.StatusNotFound
}

// some are the documents of which the pages are looked at: one of each kind.
func (s *site) some() map[string]string {
	return map[string]string{"eddystone.md": s.ids["eddystone.md"], "towers.pdf": s.ids["towers.pdf"]}
}

// axe returns the program that finds what keeps people with disabilities from using a page. It
// skips the test if scripts/test-deps has not installed it.
func axe(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../testdata/clients/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "annals-tests", "clients_npm")
	if got, err := os.ReadFile(filepath.Join(dir, "package-lock.json")); err != nil || string(got) != string(want) {
		t.Skip("axe-core is not installed: run scripts/test-deps, which needs npm")
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// No page has a fault that axe-core calls serious or critical, neither in light nor in dark
// colours.
func (s *site) testAccessibility(t *testing.T) {
	program := axe(t)
	for user, paths := range map[string][]string{"alice": s.pages(t, "alice", s.some()), "admin": {"/admin"}} {
		p := s.signedIn(t, user, "/")
		p.Allow("status of 404") // while there is no such page
		if user == "alice" {
			s.ask(p, "Who built the tower of Bell Rock?")
			paths = append(paths, p.Run(`document.querySelector("#answer .cites a, .passages a").getAttribute("href")`))
		}
		for _, path := range paths {
			p.Open(s.base + path)
			for _, dark := range []bool{false, true} {
				p.Dark(dark)
				wantAccessible(t, p, program, fmt.Sprintf("%s, dark %t", path, dark))
			}
		}
	}
}

func wantAccessible(t *testing.T, p *chromiumtest.Page, program, what string) {
	t.Helper()
	p.Run(program + `; ""`)
	text := p.Run(`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations.filter(v => ["serious", "critical"].includes(v.impact)).map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html + " " + n.any.map(c => c.message).join("; ")).join(" | "))))`)
	var faults []string
	if err := json.Unmarshal([]byte(text), &faults); err != nil {
		t.Fatalf("%s: axe-core returns %q: %v", what, text, err)
	}
	for _, fault := range faults {
		t.Errorf("%s: %s", what, fault)
	}
}

// TestScreenshots writes pictures of all pages to the folder that ANNALS_SCREENSHOTS names.
func TestScreenshots(t *testing.T) {
	out := os.Getenv("ANNALS_SCREENSHOTS")
	if out == "" {
		t.Skip("ANNALS_SCREENSHOTS names no folder: run make screenshots OUT=folder")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	s.fill(t)
	for user, paths := range map[string][]string{"alice": s.pages(t, "alice", s.some()), "admin": {"/admin"}, "": {"/"}} {
		var p *chromiumtest.Page
		if user == "" {
			p = s.page(t)
		} else {
			p = s.signedIn(t, user, "/")
		}
		p.Allow("status of 404")
		if user == "alice" {
			paths = append(paths, "/?q=Who+built+the+tower+of+Bell+Rock%3F")
			s.ask(p, "Who built the tower of Bell Rock?")
			paths = append(paths, p.Run(`document.querySelector("#answer .cites a, .passages a").getAttribute("href")`))
		}
		for n, path := range paths {
			for _, width := range []int{360, 800, 1600} {
				p.Size(width, 900)
				for _, dark := range []bool{false, true} {
					p.Dark(dark)
					p.Open(s.base + path)
					name := strings.Trim(strings.Map(func(r rune) rune {
						if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
							return r
						}
						return '-'
					}, path), "-")
					name = fmt.Sprintf("%s-%02d-%.40s-%d", user, n, name, width)
					if dark {
						name += "-dark"
					}
					p.Wait("pictures", `[...document.images].every(i => i.loading === "lazy" || i.complete)`)
					p.Screenshot(filepath.Join(out, name+".png"))
					if over := p.Run(`document.documentElement.scrollWidth > innerWidth`); over == "true" {
						t.Errorf("%s is wider than %d pixels", path, width)
					}
				}
			}
		}
	}
}
