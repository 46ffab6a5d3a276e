package mcp_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
)

// A read right after a write by a tool is never stale: the reply to the write waits for every
// read model that a client may read next.
func TestWritingToolsAwaitReadModels(t *testing.T) {
	root, set := everything(t)
	s := start(t, set)
	a, b := s.connect("alice"), s.connect("bob")
	n := 0
	document := func() string {
		n++
		return s.file("alice", paper{fmt.Sprint("Folder ", n), "a.md", fmt.Sprint("Text ", n), nil})[0]
	}
	call := func(agent *agent, tool string, in args) func() {
		return func() {
			if text, _, failed := agent.try(tool, in); failed {
				t.Errorf("%s %v = %s, want success", tool, in, text)
			}
		}
	}
	answer := func(tool string) func() func() {
		return func() func() {
			at, err := s.handler.UnblockInviter(t.Context(), user("bob"), "", foldertree.UnblockInviter{By: "user:alice"})
			s.wait(at, err)
			document()
			return call(b, tool, args{"folder_id": s.offer(fmt.Sprint("Folder ", n), "bob", "read").String()})
		}
	}
	writes := map[string]struct {
		event   events.Data // event that must be readable when the reply is sent
		prepare func() (write func())
	}{
		"ingest": {events.ImportRequested{}, func() func() {
			return call(a, "ingest", args{"file_paths": []string{write(t, filepath.Join(root, "virus.exe"), "MZ")}})
		}},
		"reread_documents":   {events.ImportRequested{}, func() func() { return call(a, "reread_documents", args{"doc_ids": []string{document()}}) }},
		"delete_documents":   {events.DocumentDeleted{}, func() func() { return call(a, "delete_documents", args{"doc_ids": []string{document()}}) }},
		"accept_invitation":  {events.FolderInvitationAccepted{}, answer("accept_invitation")},
		"decline_invitation": {events.FolderInvitationDeclined{}, answer("decline_invitation")},
	}
	for tool, err := range a.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if name := tool.Name[len("service_"):]; !tool.Annotations.ReadOnlyHint && writes[name].prepare == nil {
			t.Errorf("the tool %s changes something: add a call to TestWritingToolsAwaitReadModels in http/mcp/await_test.go", name)
		}
	}
	for tool, w := range writes {
		s.stack.CheckAwait(t, tool, []string{events.TypeOf(w.event)}, w.prepare)
	}
}
