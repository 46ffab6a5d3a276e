//go:build unix

package main

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A leader whose process hangs must be replaced by another node, although its
// connections stay open. When the process resumes, it must continue as a follower.
func TestHangingLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	s := startNodes(t, 2)
	leader := -1
	s.await("a node leads the vault", func() (bool, string) {
		for i := range s.all {
			if strings.Contains(s.get(i, "/readyz"), `"leads":true`) {
				leader = i
			}
		}
		return leader >= 0, "none"
	})
	process := s.all[leader].command.Process
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped, other := time.Now(), 1-leader
	status, reply, err := s.all[other].request(s.issuer.token, http.MethodPost, "/vault/folders", `{"name":"Made meanwhile","parentFolderId":null}`)
	if err != nil || status != http.StatusCreated && status != http.StatusAccepted {
		t.Errorf("make a folder beside a node that hangs: %d %s %v", status, reply, err)
	}
	listed := func(i int) func() (bool, string) {
		return func() (bool, string) {
			// Ignore error replies: after resuming, the node does not know at first
			// which generation is active.
			status, folders, err := s.all[i].request(s.issuer.token, http.MethodGet, "/vault/folders", "")
			return strings.Contains(string(folders), "Made meanwhile"), fmt.Sprint(status, string(folders), err)
		}
	}
	s.await("the folder is listed", listed(other))
	t.Logf("another node led %s after one hung", time.Since(stopped).Round(100*time.Millisecond))
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.await("the folder is listed where the node hung", listed(leader))
}
