package consoletest

import (
	"testing"
)

// An administrator rebuilds a read model, sees a bar while it is filled, and is told when that has ended. People search
// in the meantime.
func (s *site) testRebuild(t *testing.T) {
	p := s.signedIn(t, "admin", "/admin")
	const passages = `[...document.querySelectorAll(".models tr")].find(r => r.querySelector("th").innerText === "passages")`
	seen := false
	for range 10 { // it may have ended before the page is shown
		p.Wait("the rebuilds to end", `!("busy" in document.getElementById("models").dataset)`)
		p.Run(passages + `.querySelector("details").open = true`)
		p.Run(passages + `.querySelector("form button").id = "rebuild"`)
		leave(p, func() { p.Click("#rebuild") })
		p.WaitText("The rebuild has begun.")
		if seen = p.Run(`!!`+passages+`.querySelector("progress")`) == "true"; seen {
			break
		}
		p.Open(s.base + "/admin")
	}
	if !seen {
		t.Fatal("no page shows the bar of a rebuild")
	}
	p.Run(`window.loadedOnce = true`)
	alice := s.signedIn(t, "alice", "/")
	s.ask(alice, "Who finished the lighthouse at Eddystone?")
	alice.WaitText("John Smeaton")
	p.WaitText("The rebuild has ended.")
	p.Wait("the bar to go", `!`+passages+`.querySelector("progress")`)
	if p.Run(`String(window.loadedOnce)`) != "true" {
		t.Error("the page was loaded again")
	}
	p.Wait("the generations", passages+`.innerText.includes("kept, so that one can go back to it")`)
}
