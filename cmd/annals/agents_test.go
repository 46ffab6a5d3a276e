package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agentTest is a running server with the users alice and bob, who have one folder each.
// The tests use its MCP tools with official client libraries and with plain HTTP.
type agentTest struct {
	*serverProcess
	data  string
	inbox string // folder from which the tools may import files
}

// agentPasswords are the passwords of the users.
var agentPasswords = map[string]string{"alice": "a lighthouse keeper", "bob": "an icebreaker captain"}

// longLines is the number of lines of the document that is too long for one reply.
const longLines = 3000

// TestAgents checks that an agent can use the MCP tools if it has only their URL and a
// person who signs in, and that it can skip no step of the sign-in.
func TestAgents(t *testing.T) {
	a := startAgentTest(t)
	t.Run("AnHTTPClientGoesTheWholeWay", a.testWholeWay)
	t.Run("EveryWrongStepIsRefused", a.testWrongSteps)
	t.Run("TheTypeScriptClientUsesEverything", a.testTypeScriptClient)
	t.Run("TheToolsConform", a.testConformanceOfTools)
	t.Run("TheSignInConforms", a.testConformanceOfSignIn)
	t.Run("RegistrationsAreBounded", a.testRegistrationsAreBounded) // last, because no client can register afterwards
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
	a.annals(t, "", "share", "--user", "bob", "ice breakers", "user:alice", "read") // has no effect until alice accepts
	return a
}

func longStory() string {
	var b strings.Builder
	for n := range longLines {
		fmt.Fprintf(&b, "Line %d of the long story about keepers and their lamps.\n\n", n)
	}
	return b.String()
}

// annals runs another command while the server runs.
func (a *agentTest) annals(t *testing.T, input string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append(args, "--data", a.data), strings.NewReader(input), &out, &out); err != nil {
		t.Fatalf("annals %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
}

// tools returns the URL of the MCP tools.
func (a *agentTest) tools() string { return a.base + "/mcp" }

func (a *agentTest) browser(name string) *browser { return newBrowser(name, agentPasswords[name]) }
