package http_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/http/signin/accounts"
)

type twoAccounts struct{}

func (twoAccounts) List(context.Context) ([]accounts.Account, error) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return []accounts.Account{{Name: "admin", Admin: true, Created: made, SignedIn: made.Add(time.Hour)}, {Name: "alice", Groups: []string{"b", "a"}, Disabled: true, Created: made}, {Name: "bob", Groups: []string{"a"}, Service: true, Created: made}}, nil
}

// administer sends a request as an administrator.
func (s *service) administer(method, path string) (*http.Response, string) {
	s.Helper()
	return s.do(method, "/core/admin/"+path, "", "Authorization", "Bearer admin")
}

func TestAccountsForAdministrators(t *testing.T) {
	s := startStack(t)
	resp, body := s.administer("GET", "users")
	s.want(resp, body, 200, `{"users":[{"name":"admin","groups":[],"admin":true,"disabled":false,"service":false,"created_at":"2026-01-02T03:04:05Z","signed_in_at":"2026-01-02T04:04:05Z"},
		{"name":"alice","groups":["b","a"],"admin":false,"disabled":true,"service":false,"created_at":"2026-01-02T03:04:05Z","signed_in_at":null},
		{"name":"bob","groups":["a"],"admin":false,"disabled":false,"service":true,"created_at":"2026-01-02T03:04:05Z","signed_in_at":null}]}`)
	resp, body = s.administer("GET", "groups")
	s.want(resp, body, 200, `{"groups":[{"name":"a","members":["alice","bob"]},{"name":"b","members":["alice"]}]}`)
	s.server.Admin.Accounts = nil
	for _, path := range []string{"users", "groups"} {
		if resp, body := s.administer("GET", path); resp.StatusCode != 404 || !strings.Contains(body, "no built-in sign-in") {
			t.Errorf("%s without accounts = %d %s", path, resp.StatusCode, body)
		}
	}
}

func TestFiguresForAdministrators(t *testing.T) {
	s := startStack(t)
	s.file("A/B", "a.md", handbook)
	s.file("A", "b.md", "# B")
	s.file("A", "c.txt", "C")
	resp, body := s.administer("GET", "figures")
	got := decode[struct {
		Documents, Folders int
		Bytes              int `json:"original_bytes"`
		Head               int `json:"log_head"`
		Types              []struct {
			Kind             string `json:"content_type"`
			Documents, Bytes int
		}
		Stored  map[string]*int `json:"stored_bytes"`
		Imports []struct {
			Date                            string
			Jobs, Files, Successful, Failed int
		}
	}](t, body)
	if resp.StatusCode != 200 || got.Documents != 3 || got.Folders != 2 || got.Bytes != len(handbook)+4 || got.Head == 0 || len(got.Imports) != 30 {
		t.Fatalf("figures = %d %s", resp.StatusCode, body)
	}
	if types := fmt.Sprint(got.Types); types != fmt.Sprintf("[{text/markdown 2 %d} {text/plain 1 1}]", len(handbook)+3) {
		t.Errorf("types are %s", types)
	}
	if log, index := got.Stored["log"], got.Stored["search_index"]; log == nil || *log != 7 || index == nil || *index != 0 || got.Stored["read_models"] != nil || len(got.Stored) != 3 {
		t.Errorf("stored bytes are %s", body)
	}
	jobs, good := 0, 0
	for i, d := range got.Imports {
		if i > 0 && d.Date <= got.Imports[i-1].Date {
			t.Errorf("day %s after %s", d.Date, got.Imports[i-1].Date)
		}
		jobs, good = jobs+d.Jobs, good+d.Successful
	}
	if last := got.Imports[29]; jobs != 3 || good != 3 || last.Date < time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly) {
		t.Errorf("imports %s, want 3 jobs", body)
	}
}

type projectionList struct {
	Projections []struct {
		Name       string
		Generation int
		Position   int
		Head       int
		Parked     int
		Rebuild    *struct {
			Running bool
			Error   *string
		}
		Generations []struct {
			Generation int
			State      string
		}
	}
}

// A rebuild that an administrator begins activates another generation, and the one before is kept.
func TestAdministratorRebuilds(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "a.md", handbook)
	if resp, body := s.administer("POST", "projections/nothing/rebuild"); resp.StatusCode != 404 {
		t.Errorf("rebuild of nothing = %d %s, want 404", resp.StatusCode, body)
	}
	resp, body := s.administer("POST", "projections/vault/rebuild")
	s.want(resp, body, 202, `{"rebuilding":["vault"],"unreadable":[]}`)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		resp, body := s.administer("GET", "projections")
		list := decode[projectionList](t, body)
		if resp.StatusCode != 200 || len(list.Projections) < 7 {
			t.Fatalf("projections = %d %s", resp.StatusCode, body)
		}
		done := false
		for _, m := range list.Projections {
			if m.Rebuild != nil && m.Rebuild.Error != nil {
				t.Fatalf("projections = %s", body)
			}
			if m.Name != "vault" {
				if m.Generation != 1 || len(m.Generations) > 0 {
					t.Fatalf("%s was rebuilt, too: %s", m.Name, body)
				}
				continue
			}
			done = m.Rebuild == nil && m.Generation == 2 && len(m.Generations) == 1 && m.Generations[0].State == "kept"
		}
		if done {
			break
		}
	}
	if resp, body := s.do("GET", "/vault/documents/"+id, ""); resp.StatusCode != 200 {
		t.Errorf("the document after the rebuild = %d %s", resp.StatusCode, body)
	}
	resp, body = s.administer("POST", "parked/retry")
	s.want(resp, body, 202, `{"rebuilding":[],"unreadable":[]}`)
	resp, body = s.administer("GET", "parked")
	s.want(resp, body, 200, `{"parked":[],"more":0}`)
}

type eventList struct {
	Events []struct {
		Position events.Position
		Stream   string
		Type     string
		Data     map[string]any
		Bytes    int
		Withheld *string
	}
	Next *events.Position `json:"next_before"`
}

// The pages of the log's tail have every event once, newest first, without words of documents.
func TestEventsForAdministrators(t *testing.T) {
	s := startStack(t)
	s.file("A", "a.md", handbook)
	s.file("A", "b.md", "# Zanzibar clove\n\nThe zanzibar harvest is a clove.\n")
	records, _, err := s.log.Records(t.Context(), 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{"", "&type=FolderCreated", "&type=none", "&stream=folders", fmt.Sprintf("&after=%d", records[3].Position)} {
		var want, got []events.Position
		for _, r := range records {
			name, value, _ := strings.Cut(strings.TrimPrefix(filter, "&"), "=")
			if name == "" || name == "type" && r.Type == value || name == "stream" && r.Stream == value || name == "after" && r.Position > records[3].Position {
				want = append([]events.Position{r.Position}, want...)
			}
		}
		for before := ""; ; {
			resp, body := s.administer("GET", "events?limit=3"+filter+before)
			page := decode[eventList](t, body)
			if resp.StatusCode != 200 || len(page.Events) > 3 {
				t.Fatalf("events = %d %s", resp.StatusCode, body)
			}
			if said := strings.ToLower(body); strings.Contains(said, "zanzibar") || strings.Contains(said, "clove") || strings.Contains(said, "ninety") {
				t.Errorf("words of documents are told: %s", body)
			}
			for _, e := range page.Events {
				got = append(got, e.Position)
				words := events.IsText(e.Stream) || e.Type == "DocumentImported" || e.Type == "FileImported"
				if words != (e.Withheld != nil) || e.Data == nil || e.Bytes == 0 {
					t.Errorf("event %+v", e)
				}
			}
			if page.Next == nil {
				break
			}
			before = fmt.Sprintf("&before=%d", *page.Next)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("events%s: got %v, want %v", filter, got, want)
		}
	}
	for _, query := range []string{"limit=0", "limit=201", "before=x", "after=-1"} {
		if resp, body := s.administer("GET", "events?"+query); resp.StatusCode != 422 {
			t.Errorf("events?%s = %d %s, want 422", query, resp.StatusCode, body)
		}
	}
}
