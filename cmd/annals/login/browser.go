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

	"golang.org/x/oauth2"

	"annals/events/fault"
)

// byBrowser sends a browser to the issuer and waits at a port of this machine for
// it to come back with a code.
func (f *Flow) byBrowser(ctx context.Context, at issuer, config *oauth2.Config) (token *oauth2.Token, err error) {
	if at.Authorization == "" {
		return nil, errors.New("it has no pages to sign in on: try --device")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser to come back: %w", err)
	}
	config.RedirectURL = "http://" + listener.Addr().String() + callbackPath
	back := &callback{state: rand.Text(), issuer: at, answers: make(chan answer, 1)}
	defer back.serve(listener)()

	verifier := oauth2.GenerateVerifier()
	address := config.AuthCodeURL(back.state, append(f.resource(), oauth2.S256ChallengeOption(verifier))...)
	f.Tell("Sign in by a browser on this machine, at:", "", "  "+address, "")
	if f.Open != nil {
		if err := f.Open(address); err != nil {
			f.Tell("The browser cannot be opened: " + err.Error())
		}
	}
	select {
	case got := <-back.answers:
		if got.err != nil {
			return nil, got.err
		}
		return config.Exchange(ctx, got.code, append(f.resource(), oauth2.VerifierOption(verifier))...)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const callbackPath = "/callback"

// callback is where the browser comes back to. It takes one answer, of the
// sign-in that it waits for; others may knock at the port, too.
type callback struct {
	state   string
	issuer  issuer
	answers chan answer // room for one
}

type answer struct {
	code string
	err  error
}

// serve begins to serve; the function that it returns ends that, once the page
// that is being written is out.
func (c *callback) serve(l net.Listener) (end func()) {
	server := &http.Server{
		Handler: c, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // until end
	}()
	return func() {
		// Browsers keep connections open on which they never ask anything.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
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
		http.Error(w, "this address takes GET", http.StatusMethodNotAllowed)
		return
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		showPage(w, http.StatusBadRequest, "This is not the sign-in that the command line waits for")
		return
	}
	got := c.read(q.Get)
	select {
	case c.answers <- got:
	default:
		showPage(w, http.StatusConflict, "The command line has its answer already")
		return
	}
	if got.err != nil {
		showPage(w, http.StatusOK, "You are not signed in")
		return
	}
	showPage(w, http.StatusOK, "Thank you")
}

// read reads the parameters that the browser brings. An answer of another issuer
// than the one asked is none (RFC 9207).
func (c *callback) read(get func(string) string) answer {
	switch iss := get("iss"); {
	case iss != c.issuer.Name && (iss != "" || c.issuer.NamesItself):
		return answer{err: fault.Errorf(fault.Unauthenticated, "the answer comes from another issuer, %q", iss)}
	case get("error") == "access_denied":
		return answer{err: fault.Errorf(fault.Unauthenticated, "the sign-in was denied")}
	case get("error") != "":
		return answer{err: fault.Errorf(fault.Unauthenticated, "it refuses: %s", describe(get("error"), get("error_description")))}
	case get("code") == "":
		return answer{err: fault.Errorf(fault.Unauthenticated, "the browser brings no code")}
	}
	return answer{code: get("code")}
}

var page = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Annals</title><style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}</style></head>
<body><h1>{{.}}</h1><p>You may close this window. The command line goes on by itself.</p></body></html>
`))

func showPage(w http.ResponseWriter, status int, title string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_ = page.Execute(w, title) // whoever closes the window early has no use for it
}

// opener is the program that opens a URL in the browser of whoever is signed in
// to this machine.
func opener(url string) []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open", url}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	return []string{"xdg-open", url}
}

// CanOpen reports whether whoever runs this program probably sits before a
// browser on this machine.
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

// OpenBrowser has a URL opened. It does not wait for the browser, which may go on
// after this program.
func OpenBrowser(url string) error {
	line := opener(url)
	command := exec.Command(line[0], line[1:]...)
	if err := command.Start(); err != nil {
		return err
	}
	return command.Process.Release()
}
