package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agentTest is the real program with two users and a folder of each, for what agents
// use: the official clients, and plain HTTP.
type agentTest struct {
	*serverProcess
	data  string
	inbox string // a folder below which the tools may read files
}

// agentPasswords are what the users sign in with.
var agentPasswords = map[string]string{"alice": "a lighthouse keeper", "bob": "an icebreaker captain"}

// longLines is how many lines the document has that no client gets in one
// piece.
const longLines = 3000

// TestAgents holds that an agent needs no more than the tools' URL and a person
// who signs in, and that nobody gets in by a step less.
func TestAgents(t *testing.T) {
	a := startAgentTest(t)
	t.Run("AnHTTPClientGoesTheWholeWay", a.testWholeWay)
	t.Run("EveryWrongStepIsRefused", a.testWrongSteps)
	t.Run("TheTypeScriptClientUsesEverything", a.testTypeScriptClient)
	t.Run("TheToolsConform", a.testConformanceOfTools)
	t.Run("TheSignInConforms", a.testConformanceOfSignIn)
	t.Run("RegistrationsAreBounded", a.testRegistrationsAreBounded) // last: there is no registering after it
}

func startAgentTest(t *testing.T) *agentTest {
	t.Helper()
	dir := t.TempDir()
	a := &agentTest{data: filepath.Join(dir, "annals-data"), inbox: filepath.Join(dir, "inbox")}
	writeFile(t, dir, "lighthouses/eddystone.md", "# Eddystone\n\nThe lighthouse at Eddystone was finished in 1759 by John Smeaton.\n")
	writeFile(t, dir, "lighthouses/long.md", "# A long story\n\n"+longStory())
	writeFile(t, dir, "ice breakers/lenin.md", "# Lenin\n\nThe icebreaker Lenin had the passphrase walrus.\n")
	writeFile(t, a.inbox, "fastnet.md", "# Fastnet\n\nThe lighthouse on Fastnet Rock was lit in 1854.\n")
	server, err := startServer(dir, nil, "--log-level", "warn", "--mcp-ingest-root", a.inbox, "--mcp-allow-delete")
	if err != nil {
		t.Fatal(err)
	}
	a.serverProcess = server
	t.Cleanup(func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	for name, password := range agentPasswords {
		a.annals(t, password+"\n", "user", "add", name)
	}
	a.annals(t, "", "import", "--user", "alice", "--tag", "towers", "--state", filepath.Join(dir, "alice"), filepath.Join(dir, "lighthouses"))
	a.annals(t, "", "import", "--user", "bob", "--tag", "ships", "--state", filepath.Join(dir, "bob"), filepath.Join(dir, "ice breakers"))
	a.annals(t, "", "share", "--user", "bob", "ice breakers", "user:alice", "read") // which shows nothing to alice before she accepts
	return a
}

func longStory() string {
	var b strings.Builder
	for n := range longLines {
		fmt.Fprintf(&b, "Line %d of the long story about keepers and their lamps.\n\n", n)
	}
	return b.String()
}

// annals runs another command of the program beside the server.
func (a *agentTest) annals(t *testing.T, input string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append(args, "--data", a.data), strings.NewReader(input), &out, &out); err != nil {
		t.Fatalf("annals %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
}

// tools is the URL that a person gives to an agent.
func (a *agentTest) tools() string { return a.base + "/mcp" }

func (a *agentTest) browser(name string) *browser { return newBrowser(name, agentPasswords[name]) }
