package consoletest

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "annals/events/sqldb" // the driver of the tables
)

// An administrator finds an event that could not be applied, as an earlier version of the program has left it, lets it
// be applied again, and sees on the same page how the rebuild ends. No page is wider than a small window.
func (s *site) testService(t *testing.T) {
	document := s.ids["eddystone.md"]
	s.stop(syscall.SIGTERM)
	tables, err := filepath.Glob(filepath.Join(s.dir, "data/read-models/vault-*.db"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("the tables of the vault are %v, %v", tables, err)
	}
	db, err := sql.Open("sqlite", tables[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO parked SELECT position, $1, 0, 'cannot apply it, because of a test' FROM checkpoint`, "document-"+document)
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	s.start(t, nil)

	p := s.signedIn(t, "admin", "/admin")
	p.WaitText("1 parked event could not be applied.")
	p.WaitText("cannot apply it, because of a test")
	p.Run(`window.loadedOnce = true`)
	p.Click(`form[action="/admin/retry"] button`)
	p.WaitText("The read models that have parked events are being rebuilt")
	if asked := p.Dialogs(true); len(asked) != 1 || !strings.Contains(asked[0], "Rebuild") {
		t.Errorf("the page asks %q", asked)
	}
	p.Run(`window.loadedOnce = true`)
	p.Wait("the end of the rebuild", `!document.querySelector("form[action='/admin/retry']") && [...document.querySelectorAll(".models tr")].some(r => r.querySelector("th").innerText === "vault" && r.innerText.includes("kept, so that one can go back to it"))`)
	if p.Run(`window.loadedOnce`) != "true" {
		t.Error("the page was loaded again")
	}
	p.Size(360, 800)
	for _, path := range []string{"/admin", "/admin/users", "/admin/events", "/admin/events?type=DocumentImported", "/history?kind=access", "/history?kind=all"} {
		p.Open(s.base + path)
		p.Run(`document.querySelectorAll("details").forEach(d => d.open = true)`)
		if wide := p.Run(`document.documentElement.scrollWidth`); wide != "360" {
			t.Errorf("%s is %s pixels wide in a window of 360", path, wide)
		}
	}
	reply, err := http.Get(s.base + "/favicon.ico")
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if kind := reply.Header.Get("Content-Type"); reply.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "image/svg+xml") {
		t.Errorf("the icon = %s %s", reply.Status, kind)
	}
}

// Times are those of the browser's zone, and stand under the days there. Without script, pages say that they are in UTC.
func (s *site) testTimes(t *testing.T) {
	p := s.signedIn(t, "alice", "/history")
	p.Call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "Pacific/Kiritimati"}, nil) // 14 hours before UTC
	zone, err := time.LoadLocation("Pacific/Kiritimati")
	if err != nil {
		t.Skip(err)
	}
	p.Open(s.base + "/history")
	var entries []struct{ Day, Text, At, Title string }
	text := p.Wait("the entries", `JSON.stringify([...document.querySelectorAll(".day li time")].map(e => ({Day: e.closest(".day").querySelector("h2").innerText, Text: e.innerText, At: e.dateTime, Title: e.title})))`)
	if err := json.Unmarshal([]byte(text), &entries); err != nil || len(entries) < 3 {
		t.Fatalf("%s: %v", text, err)
	}
	for _, e := range entries {
		at, err := time.Parse(time.RFC3339, e.At)
		if local := at.In(zone); err != nil || e.Day != local.Format("2 January 2006") || e.Text != local.Format("15:04") || !strings.Contains(e.Title, "Pacific/Kiritimati") {
			t.Errorf("%+v, want %s", e, at.In(zone))
		}
	}
	p.Open(s.base + "/documents/" + s.ids["eddystone.md"] + "/history")
	if text := p.Wait("the version", `document.querySelector(".versions time").innerText`); !strings.Contains(text, " at ") || strings.Contains(text, "UTC") {
		t.Errorf("the version is of %q", text)
	}
	p.Scripts(false)
	p.Open(s.base + "/documents/" + s.ids["eddystone.md"] + "/history")
	if text := p.Wait("the version", `document.querySelector(".versions time").innerText`); !strings.HasSuffix(text, " UTC") {
		t.Errorf("without script the version is of %q", text)
	}
}
