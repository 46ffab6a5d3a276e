package consoletest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"annals/cmd/chromiumtest"
	"annals/events"
	"annals/http/console"
	"annals/http/console/session"

	"github.com/gorilla/mux"
)

// visitor is a sign-in for tests: everybody is the user whom the cookie names.
type visitor struct{}

func (visitor) Of(_ http.ResponseWriter, r *http.Request) (session.Session, bool, error) {
	name := "alice"
	if c, err := r.Cookie("user"); err == nil {
		name = c.Value
	}
	return session.Session{User: events.User{Principal: events.Principal("user:" + name)}}, true, nil
}
func (visitor) Login(http.ResponseWriter, *http.Request)       {}
func (visitor) Callback(http.ResponseWriter, *http.Request)    {}
func (visitor) Logout(http.ResponseWriter, *http.Request)      {}
func (visitor) CSRF(http.ResponseWriter, *http.Request) string { return "token" }
func (visitor) CheckCSRF(r *http.Request) bool                 { return r.Header.Get("X-CSRF-Token") == "token" }

// TestStreamedAnswers shows answers that a language model writes, as the REST interface streams
// them, and what becomes of them if the stream does not come to its end.
func TestStreamedAnswers(t *testing.T) {
	const sentence = "data: {\"event_type\":\"sentence\",\"text\":\"Erik Ljung did.\"}\n\n"
	streams := map[string]string{
		"whole":  sentence + "data: {\"event_type\":\"complete\",\"answer\":\"Erik Ljung founded it.\",\"confidence\":0.9,\"sources\":[]}\n\n",
		"broken": sentence,
		"failed": sentence + "data: {\"event_type\":\"error\",\"message\":\"the server is stopping: ask again\"}\n\n",
	}
	root := mux.NewRouter()
	server := httptest.NewServer(root)
	defer server.Close()
	at := func(path string) *url.URL {
		u, _ := url.Parse(server.URL + path) // the address of a test server is valid
		return u
	}
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/core/ask" {
			_, _ = io.WriteString(w, `{"sources":[]}`)
			return
		}
		text, _ := io.ReadAll(r.Body)
		for query, stream := range streams {
			if strings.Contains(string(text), query) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, stream)
				return
			}
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"detail":[{"msg":"The question is too long"}]}`)
	})
	console.New(console.Options{Sessions: visitor{}, CoreURL: at("/core"), VaultURL: at("/vault"), IssuerURL: at("/signin"), Composes: true}).Mount(root, rest)

	p := chromiumtest.Start(t, time.Minute).NewPage(t)
	p.Allow("status of 422")
	for query, want := range map[string][2]string{
		"whole":   {"Sure", "Erik Ljung founded it."},
		"broken":  {"No answer", "before the answer was complete"},
		"failed":  {"No answer", "the server is stopping"},
		"refused": {"No answer", "The question is too long"},
	} {
		p.Open(server.URL + "/?q=" + query)
		p.Wait("the verdict of "+query, fmt.Sprintf(`document.querySelector("#answer .verdict")?.textContent === %q`, want[0]))
		if got := p.Run(`document.querySelector("#answer .text").textContent`); !strings.Contains(got, want[1]) {
			t.Errorf("the answer to %s is %q, want %q", query, got, want[1])
		}
	}

	// What somebody has begun to type is not for the next user of the same tab.
	for _, user := range []string{"alice", "bob"} {
		p.Call("Network.setCookie", map[string]any{"name": "user", "value": user, "url": server.URL}, nil)
		p.Open(server.URL + "/")
		if user == "alice" {
			p.Write(".field input[name=q]", "Is my salary")
			p.Open(server.URL + "/")
		}
		if got, want := p.Run(`document.querySelector(".field input[name=q]").value`), map[string]string{"alice": "Is my salary"}[user]; got != want {
			t.Errorf("the field of %s has %q, want %q", user, got, want)
		}
	}
}
