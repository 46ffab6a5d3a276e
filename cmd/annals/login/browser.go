package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"annals/events/fault"

	"golang.org/x/oauth2"
)

// byBrowser opens the sign-in page of the issuer in a browser. It listens on a local
// port for the redirect with the authorization code, and exchanges the code for a
// token.
func (f *Flow) byBrowser(ctx context.Context, at issuer, config *oauth2.Config) (token *oauth2.Token, err error) {
	if at.Authorization == "" {
		return nil, errors.New("the issuer does not support sign-in with a browser on this machine: try --device")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the redirect of the browser: %w", err)
	}
	config.RedirectURL = "http://" + listener.Addr().String() + callbackPath
	redirect := &callback{state: rand.Text(), issuer: at, results: make(chan result, 1)}
	defer redirect.serve(listener)()

	verifier := oauth2.GenerateVerifier()
	address := config.AuthCodeURL(redirect.state, append(f.resource(), oauth2.S256ChallengeOption(verifier))...)
	f.Print("Sign in with a browser on this machine, at:", "", "  "+address, "")
	if f.Open != nil {
		if err := f.Open(address); err != nil {
			f.Print("Could not open the browser: " + err.Error())
		}
	}
	select {
	case got := <-redirect.results:
		if got.err != nil {
			return nil, got.err
		}
		return config.Exchange(ctx, got.code, append(f.resource(), oauth2.VerifierOption(verifier))...)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const callbackPath = "/callback"

// callback serves the redirect URL. Any program on this machine can send requests
// there. Therefore callback accepts only one request, which must have the right state
// parameter.
type callback struct {
	state   string
	issuer  issuer
	results chan result // buffer of one result
}

// result is what the issuer sent in the parameters of the redirect.
type result struct {
	code string
	err  error
}

// serve starts an HTTP server on l. stop shuts the server down after it has sent the
// current page.
func (c *callback) serve(l net.Listener) (stop func()) {
	server := &http.Server{
		Handler: c, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = server.Serve(l) // returns an error when the server is shut down
	}()
	return func() {
		// Limit the wait, because browsers open connections on which they never send a
		// request.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-stopped
	}
}

func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.URL.Path != callbackPath:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "only GET is allowed", http.StatusMethodNotAllowed)
		return
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		showPage(w, http.StatusBadRequest, "This is not the sign-in that the command line is waiting for")
		return
	}
	got := c.read(q.Get)
	select {
	case c.results <- got:
	default:
		showPage(w, http.StatusConflict, "The command line has already received a sign-in")
		return
	}
	if got.err != nil {
		showPage(w, http.StatusOK, "You are not signed in")
		return
	}
	showPage(w, http.StatusOK, "Thank you")
}

// read reads the parameters of a redirect. If the redirect names another issuer (RFC
// 9207), it returns an error.
func (c *callback) read(get func(string) string) result {
	switch iss := get("iss"); {
	case iss != c.issuer.Name && (iss != "" || c.issuer.NamesItself):
		return result{err: fault.Errorf(fault.Unauthenticated, "the redirect comes from another issuer, %q", iss)}
	case get("error") == "access_denied":
		return result{err: fault.Errorf(fault.Unauthenticated, "the sign-in was denied")}
	case get("error") != "":
		return result{err: fault.Errorf(fault.Unauthenticated, "the issuer refuses: %s", describe(get("error"), get("error_description")))}
	case get("code") == "":
		return result{err: fault.Errorf(fault.Unauthenticated, "the redirect of the browser has no code")}
	}
	return result{code: get("code")}
}

var page = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Annals</title><style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}</style></head>
<body><h1>{{.}}</h1><p>You may close this window. The command line continues by itself.</p></body></html>
`))

func showPage(w http.ResponseWriter, status int, title string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_ = page.Execute(w, title) // fails only if the browser closed the connection
}

// opener returns the command line that opens a URL in the user's browser.
func opener(url string) []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open", url}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	return []string{"xdg-open", url}
}

// CanOpen reports whether this program can probably open a browser for the user. It
// cannot in an SSH session or without a display.
func CanOpen() bool {
	if os.Getenv("SSH_CONNECTION") != "" || os.Getenv("SSH_TTY") != "" {
		return false
	}
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	_, err := exec.LookPath(opener("")[0])
	return err == nil
}

// OpenBrowser opens a URL in the user's browser. It does not wait for the browser, which
// may outlive this program.
func OpenBrowser(url string) error {
	line := opener(url)
	command := exec.Command(line[0], line[1:]...)
	if err := command.Start(); err != nil {
		return err
	}
	return command.Process.Release()
}
