package mcp_test

import (
	"slices"
	"strings"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
)

type invitations struct {
	Invitations []struct {
		FolderID   string `json:"folder_id"`
		FolderName string `json:"folder_name"`
		InvitedBy  string `json:"invited_by"`
		Access     string `json:"access"`
		InvitedAt  string `json:"invited_at"`
	}
}

// Before an invitation is accepted, no tool, resource or completion reveals anything about its
// folder.
func TestAgentsAnswerInvitations(t *testing.T) {
	s := start(t)
	ids := s.file("alice",
		paper{"Top/Walrus", "walrus.md", "# Zanzibar\n\nThe walrus lives in the attic.\n", []string{"hush"}},
		paper{"Seal", "seal.md", "# Seal\n\nThe seal lives in the cellar.\n", []string{"hush"}})
	b := s.connect("bob")
	everything := func() (all string) {
		for name, ways := range aims {
			for _, way := range ways {
				if !strings.Contains(name, "invitation") && !strings.Contains(name, "ingest") && !strings.Contains(name, "delete") {
					way = target{"Top/Walrus", "", "hush", ids[0], nobody}.fill(way)
					all += name + " " + way + " = " + strings.ReplaceAll(b.reply(name, way), way, "") + "\n"
				}
			}
		}
		return all + strings.Join(slices.Concat(b.completions("folder_name", ""), b.completions("tag_name", "")), " ")
	}
	walrus, seal := s.offer("Top/Walrus", "bob", "read"), s.offer("Seal", "bob", "write")
	if all := everything(); strings.Contains(all, "attic") || strings.Contains(all, "Zanzibar") || strings.Contains(all, "cellar") || strings.Contains(all, "walrus.md") {
		t.Errorf("before bob accepts, his agent receives\n%s", all)
	}
	var got invitations
	text := b.ok("list_invitations", nil, &got)
	if len(got.Invitations) != 2 || got.Invitations[1].FolderID != walrus.String() || got.Invitations[1].FolderName != "Walrus" || got.Invitations[1].InvitedBy != "user:alice" ||
		got.Invitations[1].Access != "read" || got.Invitations[1].InvitedAt == "" || strings.Contains(text, "Top") || !strings.Contains(text, "- “Seal” (write access), by user:alice") {
		t.Errorf("invitations %+v\n%s", got, text)
	}
	before, err := s.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.ok("accept_invitation", args{"folder_id": walrus.String()}, nil)
	b.ok("decline_invitation", args{"folder_id": seal.String()}, nil)
	if all := everything(); !strings.Contains(all, "attic") || strings.Contains(all, "cellar") {
		t.Errorf("after bob accepts one of two invitations, his agent receives\n%s", all)
	}
	if text := b.ok("list_invitations", nil, &got); len(got.Invitations) != 0 || !strings.Contains(text, "No invitations") {
		t.Errorf("invitations %+v\n%s", got, text)
	}
	for _, tool := range []string{"accept_invitation", "decline_invitation"} {
		b.refused(tool, args{"folder_id": seal.String()}, "you have no invitation", "service_list_invitations")
		b.refused(tool, args{"folder_id": "x"}, "not the id of a folder")
	}
	written, _, err := s.log.Read(t.Context(), before, 100)
	if err != nil || len(written) != 2 || written[0].Metadata.Via != "tools" || written[0].Metadata.Actor != "user:bob" || written[1].Type != events.TypeOf(events.FolderInvitationDeclined{}) {
		t.Errorf("the log has %+v (%v)", written, err)
	}
}

// A tool call may create a top-level folder only if the user may.
func TestIngestRespectsTopLevelRules(t *testing.T) {
	root, set := everything(t)
	s := prepare(t)
	s.handler.Rules = foldertree.Rules{TopLevel: foldertree.TopLevel{Restricted: true}}
	s.serve(set)
	path := write(t, root+"/a.md", "# A")
	a := s.connect("alice")
	in := func(folder string) args {
		return args{"file_paths": []string{path}, "file_metadata": []args{{"folder_name": folder}}}
	}
	a.refused("ingest", in("New/below"), "only administrators may create folders at the top level here", `your own folder is "Inbox/alice"`)
	a.ok("ingest", in("Inbox/alice/below"), nil)
}
