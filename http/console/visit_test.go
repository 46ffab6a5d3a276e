package console

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"annals/http/console/session"

	"github.com/gorilla/mux"
)

// The access log has the address of the browser, and not that of a proxy before the server.
func TestCallsForwardTheAddressOfTheBrowser(t *testing.T) {
	l, calls := paper(), 0
	l.markdown = func(w io.Writer) error {
		_, err := io.WriteString(w, "# Mill\n")
		return err
	}
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if got := r.Header.Get("X-Forwarded-For"); got != "192.0.2.7" {
			t.Errorf("%s %s has X-Forwarded-For %q", r.Method, r.URL, got)
		}
		l.ServeHTTP(w, r)
	})
	page := s.as("alice", "GET", "/documents/"+docID+"?as=text", nil, "X-Forwarded-For", "192.0.2.7")
	if page.StatusCode != http.StatusOK || l.asked["/vault/documents/"+docID+"/markdown"] != 1 {
		t.Errorf("the page has the status %d after %d calls", page.StatusCode, calls)
	}
}

func TestScriptsGetRefusalsAsJSON(t *testing.T) {
	s := startSite(t, func(http.ResponseWriter, *http.Request) { t.Error("the REST interface was called") })
	for _, test := range []struct {
		user, mode string
		status     int
	}{{"alice", "cors", http.StatusForbidden}, {"alice", "", http.StatusForbidden}, {"", "cors", http.StatusUnauthorized}} {
		r := s.as(test.user, "POST", "/console/api/vault/folders", url.Values{"name": {"x"}, "csrf": {"of another user"}}, "Sec-Fetch-Mode", test.mode)
		var refused struct{ Message string }
		text := body(t, r)
		if err := json.Unmarshal([]byte(text), &refused); err != nil || refused.Message == "" || r.StatusCode != test.status {
			t.Errorf("a script of %q gets %d %s (%v)", test.user, r.StatusCode, text, err)
		}
	}
	// A person who follows a link to a file signs in.
	r := s.as("", "GET", "/console/api/vault/documents/"+docID+"/content", nil, "Sec-Fetch-Mode", "navigate")
	if to := r.Header.Get("Location"); r.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/console/login?to=") {
		t.Errorf("a link to a file leads nobody to %d %q", r.StatusCode, to)
	}
}

// unreachable is a sign-in that cannot be reached.
type unreachable struct{ visitors }

func (unreachable) Of(http.ResponseWriter, *http.Request) (session.Session, bool, error) {
	return session.Session{}, false, errors.New("no route to host")
}

func TestPagesWithoutTheSignIn(t *testing.T) {
	root, nowhere := mux.NewRouter(), &url.URL{}
	New(Options{Sessions: unreachable{}, CoreURL: nowhere, VaultURL: nowhere, IssuerURL: nowhere, Logger: slog.New(slog.DiscardHandler)}).Mount(root, nil)
	r := (&site{t, root}).as("alice", "GET", "/folders", nil)
	got := body(t, r)
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(got, "cannot be checked") {
		t.Errorf("the page is %d %s", r.StatusCode, got)
	}
	if strings.Contains(got, "Account of") || strings.Contains(got, "\uFFFD") {
		t.Errorf("the page of nobody has the menu of an account: %s", got)
	}
}

func TestFilesAfterTheSessionHasEnded(t *testing.T) {
	s := startSite(t, func(http.ResponseWriter, *http.Request) { t.Error("the REST interface was called") })
	r := s.as("", "POST", "/import", url.Values{}, "Content-Type", "multipart/form-data; boundary=x")
	if got := body(t, r); r.StatusCode != http.StatusUnauthorized || strings.Contains(got, "Nothing that you typed is lost") || strings.Contains(got, "Send again") || !strings.Contains(got, "files have not arrived") {
		t.Errorf("a form with files of nobody = %d %s", r.StatusCode, got)
	}
}

func TestAssetsHaveTypesThatBrowsersRun(t *testing.T) {
	s := startSite(t, nil)
	for file, want := range map[string]string{"console.js": "text/javascript; charset=utf-8", "style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		if got := s.as("", "GET", "/console/"+file, nil).Header.Get("Content-Type"); got != want {
			t.Errorf("%s has the type %q, want %q", file, got, want)
		}
	}
}

// A browser sends no cookies with a form of another site. It must not get a form to send again,
// nor another cookie for its form tokens.
func TestOtherSitesGetNoForms(t *testing.T) {
	s := startSite(t, func(http.ResponseWriter, *http.Request) { t.Error("the REST interface was called") })
	for _, user := range []string{"", "alice"} {
		for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://other.test"}} {
			r := s.as(user, "POST", "/folders/new", url.Values{"name": {"Mine"}, "csrf": {"the-csrf-token"}}, header...)
			if got := body(t, r); r.StatusCode != http.StatusForbidden || strings.Contains(got, "Mine") || strings.Contains(got, "the-csrf-token") {
				t.Errorf("a form of another site (%s) of %q = %d %s", header, user, r.StatusCode, got)
			}
		}
	}
}

// If a search or question is refused, the question is still in its field, with what was found.
func TestRefusedQuestionsStay(t *testing.T) {
	for refused, found := range map[string]bool{"/core/search": false, "/core/ask": true} {
		s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == refused {
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `{"detail":"you have asked too much"}`)
				return
			}
			_, _ = io.WriteString(w, `{"sources":[{"doc_id":"`+docID+`","document_title":"Mill","text":"The mill."}]}`)
		})
		r := s.as("alice", "GET", "/?q=Who+founded+the+mill", nil)
		got := body(t, r)
		if r.StatusCode != http.StatusTooManyRequests || !strings.Contains(got, "You have asked too much") || !strings.Contains(got, `value="Who founded the mill"`) {
			t.Errorf("the page is %d %s", r.StatusCode, got)
		}
		if strings.Contains(got, "The <mark>mill</mark>.") != found || strings.Contains(got, "No passages") {
			t.Errorf("after a refusal of %s: passages, want %v: %s", refused, found, got)
		}
	}
}

// If the folder to which something was to be moved was deleted meanwhile, the form says so.
func TestMoveToAFolderThatIsGone(t *testing.T) {
	const gone = "1f5c28a2-54d5-5f4e-8a0e-0f4cf4b5a1c7"
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case r.Method == "PATCH" || path == "/vault/folders/"+gone:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"message":"not_found"}`)
		case path == "/vault/folders":
			_, _ = io.WriteString(w, `[]`)
		default:
			w.Header().Set("ETag", `"2"`)
			_, _ = io.WriteString(w, `{"id":"`+docID+`","name":"Mill","version":2}`)
		}
	})
	for _, kind := range []string{"documents", "folders"} {
		r := s.as("alice", "POST", "/"+kind+"/"+docID+"/change", url.Values{"csrf": {"the-csrf-token"}, "do": {"move"}, "to": {gone}, "version": {"2"}})
		if got := body(t, r); r.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got, "no longer there") || !strings.Contains(got, "data-form") {
			t.Errorf("a move of %s = %d %s", kind, r.StatusCode, got)
		}
	}
}

func TestHistoryUntil(t *testing.T) {
	for given, want := range map[string]string{"2026-11-20": "2026-11-21", "2026-11-20T12:00:00Z": "2026-11-20T12:00:00Z", "": ""} {
		s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Get("to"); got != want {
				t.Errorf("the history until %q asks for that until %q, want %q", given, got, want)
			}
			_, _ = io.WriteString(w, "[]")
		})
		if r := s.as("alice", "GET", "/history?to="+given, nil); r.StatusCode != http.StatusOK {
			t.Errorf("the history until %q = %d", given, r.StatusCode)
		}
	}
}
