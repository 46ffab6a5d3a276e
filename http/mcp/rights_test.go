package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// target contains the folder, document, tag and job that arguments can name.
type target struct{ folder, id, tag, document, job string }

// fill replaces the placeholders in a text by the fields of g.
func (g target) fill(text string) string {
	return strings.NewReplacer("{folder}", g.folder, "{id}", g.id, "{tag}", g.tag, "{document}", g.document, "{job}", g.job).Replace(text)
}

// aims lists, for each tool and resource, every way to name something: arguments of the tool
// in JSON, or the URI of the resource.
var aims = map[string][]string{
	"service_list_folders":             {`{}`},
	"service_list_tags":                {`{}`},
	"service_list_documents_by_folder": {`{"folder_name":"{folder}"}`},
	"service_list_documents_by_tag":    {`{"tag_name":"{tag}"}`},
	"service_search": {`{"query":"walrus"}`, `{"query":"walrus","folder_name":"{folder}"}`, `{"query":"walrus","tags":["{tag}"]}`,
		`{"query":"walrus","tags":["{tag}"],"tag_mode":"any"}`},
	"service_ask": {`{"query":"Where does the walrus live?"}`, `{"query":"Where does the walrus live?","folder_name":"{folder}"}`,
		`{"query":"Where does the walrus live?","document_id":"{document}"}`},
	"service_get_document_markdown": {`{"document_id":"{document}"}`},
	"service_get_document_metadata": {`{"document_id":"{document}"}`},
	"service_ingest":                {`{"file_paths":["{file}"],"file_metadata":[{"folder_name":"{folder}/below"}]}`},
	"service_job_status":            {`{"job_id":"{job}"}`},
	"service_health":                {`{}`},
	"service_list_invitations":      {`{}`},
	"service_accept_invitation":     {`{"folder_id":"{id}"}`},
	"service_decline_invitation":    {`{"folder_id":"{id}"}`},
	"service_reread_documents":      {`{"doc_ids":["{document}"]}`},
	"service_delete_documents":      {`{"doc_ids":["{document}"]}`},

	"service://folders":                         {"service://folders"},
	"service://tags":                            {"service://tags"},
	"service://folders/{folder_name}":           {"service://folders/{folder}"},
	"service://tags/{tag_name}":                 {"service://tags/{tag}"},
	"service://documents/{document_id}/content": {"service://documents/{document}/content"},
}

// For something that the user may not read, the reply of every tool and resource is the same
// as for something that does not exist, and nothing changes.
func TestToolsRevealOnlyReadable(t *testing.T) {
	root, set := everything(t)
	file := filepath.Join(root, "a.md")
	if err := os.WriteFile(file, []byte("# A"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, set)
	job, ids := s.importJob("alice",
		paper{"Open", "open.md", "# Penguins\n\nThe penguin lives in the south.\n", []string{"seen"}},
		paper{"Vault", "hidden.md", "# Zanzibar\n\nThe walrus lives in the attic.\n", []string{"hush"}})
	s.share("Open", "bob", "read")
	secret, _, err := s.queries.FolderAt(t.Context(), user("alice"), "Vault")
	if err != nil {
		t.Fatal(err)
	}
	hidden := target{"Vault", secret.ID.String(), "hush", ids[1], job}
	absent := target{"Open/None", newID(), "nonesuch", nobody, newID()} // bob may not create a folder there either
	a, b := s.connect("alice"), s.connect("bob")
	if want, got := s.offered(a), slices.Sorted(maps.Keys(aims)); !slices.Equal(got, want) {
		t.Fatalf("aims has %q, want every tool and resource %q: add it to aims in http/mcp/rights_test.go", got, want)
	}
	for name, ways := range aims {
		for _, way := range ways {
			way = strings.ReplaceAll(way, "{file}", file)
			to, none := b.reply(name, hidden.fill(way)), b.reply(name, absent.fill(way))
			if expected := strings.NewReplacer(absent.folder, hidden.folder, absent.id, hidden.id, absent.tag, hidden.tag, absent.document, hidden.document, absent.job, hidden.job).Replace(none); to != expected {
				t.Errorf("%s %s by bob, for a hidden thing:\n%s\nfor a missing one:\n%s", name, way, to, expected)
			}
			for _, word := range []string{"Zanzibar", "attic", "hidden.md"} {
				if strings.Contains(to, word) {
					t.Errorf("%s %s reveals %q to bob: %s", name, way, word, to)
				}
			}
			if !strings.Contains(way, "{") && (strings.Contains(to, "Vault") || strings.Contains(to, "hush")) {
				t.Errorf("%s reveals names to bob: %s", name, to)
			}
		}
	}
	for _, argument := range []string{"folder_name", "tag_name"} {
		if got := b.completions(argument, ""); slices.Contains(got, "Vault") || slices.Contains(got, "hush") || len(got) != 1 {
			t.Errorf("completions of %s by bob = %q", argument, got)
		}
	}
	b.refused("delete_documents", args{"doc_ids": []string{}}, "minItems")
	if text := b.ok("delete_documents", args{"doc_ids": []string{ids[0]}}, nil); !strings.Contains(text, "not deleted") || !strings.Contains(text, "you have read access") {
		t.Errorf("delete_documents by a reader = %s", text)
	}
	b.refused("reread_documents", args{"doc_ids": []string{}}, "minItems")
	b.refused("reread_documents", args{"doc_ids": []string{ids[0]}}, "you have read access")
	for _, id := range ids {
		a.ok("get_document_metadata", args{"document_id": id}, nil)
	}
	if got := b.reply("service_list_folders", "{}"); !strings.Contains(got, "Open") {
		t.Errorf("list_folders by bob = %s", got)
	}
}

// offered returns the sorted names of the offered tools, and the URIs of the offered resources
// and resource templates.
func (s *service) offered(a *agent) (names []string) {
	for name := range a.schemas {
		names = append(names, name)
	}
	for r := range a.Resources(s.Context(), nil) {
		names = append(names, r.URI)
	}
	for r := range a.ResourceTemplates(s.Context(), nil) {
		names = append(names, r.URITemplate)
	}
	slices.Sort(names)
	return names
}

// reply calls a tool with arguments in JSON, or reads a resource by URI, and returns the whole
// reply as text.
func (a *agent) reply(name, aim string) string {
	a.Helper()
	if strings.HasPrefix(name, "service://") {
		text, err := a.read(aim)
		return fmt.Sprint(text, err)
	}
	var in args
	if err := json.Unmarshal([]byte(aim), &in); err != nil {
		a.Fatalf("%s: %v", aim, err)
	}
	text, data, failed := a.try(strings.TrimPrefix(name, "service_"), in)
	return fmt.Sprint(text, data, failed)
}

// completions returns the completions for an argument of a resource template, given the typed
// text.
func (a *agent) completions(argument, typed string) []string {
	a.Helper()
	uri := map[string]string{"folder_name": "service://folders/{folder_name}", "tag_name": "service://tags/{tag_name}"}[argument]
	result, err := a.Complete(a.Context(), &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/resource", URI: uri}, Argument: sdk.CompleteParamsArgument{Name: argument, Value: typed},
	})
	if err != nil {
		a.Fatal(err)
	}
	return result.Completion.Values
}
