package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/login"
)

// signInSite is a server with the user alice, and a home directory like that of a user
// on another machine, who has no access to the data folder.
type signInSite struct {
	*testing.T
	*serverProcess
	data string
	home string // home directory that stores the sign-in
}

func newSignInSite(t *testing.T, args ...string) *signInSite {
	t.Helper()
	dir := t.TempDir()
	s := &signInSite{T: t, data: filepath.Join(dir, "annals-data"), home: t.TempDir()}
	var err error
	if s.serverProcess, err = startServer(dir, nil, args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	var says bytes.Buffer
	if err := run(t.Context(), []string{"user", "add", "alice", "--data", s.data}, strings.NewReader("correct horse"), io.Discard, &says); err != nil {
		t.Fatalf("user add: %v %s", err, &says)
	}
	return s
}

// from returns a copy of s with a new home directory, for another test.
func (s *signInSite) from(t *testing.T) *signInSite {
	return &signInSite{T: t, serverProcess: s.serverProcess, data: s.data, home: t.TempDir()}
}

// annals returns a command that runs the program, not started yet.
func (s *signInSite) annals(args ...string) *exec.Cmd {
	s.Helper()
	program, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	c := exec.CommandContext(s.Context(), program, args...)
	c.Dir = s.home
	c.Env = append(os.Environ(), "ANNALS_TEST_PROGRAM=1", "HOME="+s.home, "XDG_CONFIG_HOME="+s.home, "ANNALS_SERVER="+s.base+"/core")
	return c
}

// run runs the program and returns its output.
func (s *signInSite) run(args ...string) (string, error) {
	s.Helper()
	out, err := s.annals(args...).CombinedOutput()
	return string(out), err
}

// login runs annals login and returns its output. When the program has printed the
// address to open, login calls finish with the output so far; finish has to complete
// the sign-in.
func (s *signInSite) login(finish func(says string), args ...string) (string, error) {
	s.Helper()
	c := s.annals(append([]string{"login"}, args...)...)
	reader, writer := io.Pipe()
	c.Stderr, c.Stdout = writer, writer
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- c.Wait()
		writer.Close()
	}()
	var says strings.Builder
	lines := bufio.NewScanner(reader)
	for empty := 0; empty < 2 && lines.Scan(); {
		says.WriteString(lines.Text() + "\n")
		if lines.Text() == "" {
			empty++
		}
	}
	finish(says.String())
	for lines.Scan() {
		says.WriteString(lines.Text() + "\n")
	}
	return says.String(), <-ended
}

// walk opens the first URL in says as alice, makes the decision on the consent page,
// and returns the last page.
func (s *signInSite) walk(says, decision string) (page string) {
	s.Helper()
	w, err := newWalker("alice", "correct horse", decision)
	if err == nil {
		page, err = w.walk(regexp.MustCompile(`http://\S+`).FindString(says))
	}
	if err != nil {
		s.Error(err)
	}
	return page
}

func (s *signInSite) wantSignedIn() {
	s.Helper()
	if out, err := s.run("whoami"); err != nil || !strings.HasPrefix(out, "alice, signed in to "+s.base+"/core by ") {
		s.Errorf("whoami = %q, %v; want alice", out, err)
	}
}

// kept returns the stored sign-in. keep replaces it.
func (s *signInSite) kept() (l login.Login, keep func(login.Login)) {
	s.Helper()
	store := login.Store{Path: filepath.Join(s.home, "annals", "credentials.json")}
	l, found, err := store.Get(s.base + "/core")
	if err != nil || !found {
		s.Fatalf("no sign-in is kept: %v", err)
	}
	return l, func(l login.Login) {
		if _, _, err := store.Put(s.Context(), s.base+"/core", l); err != nil {
			s.Fatal(err)
		}
	}
}

// age changes the times of a sign-in so that its token expires within a few minutes.
func age(l *login.Login) {
	l.Issued, l.Expires = time.Now().Add(-time.Hour), time.Now().Add(5*time.Minute)
}

func TestSignIn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("settings have another folder elsewhere")
	}
	t.Parallel()
	site := newSignInSite(t)
	for name, test := range map[string]func(*signInSite){
		"browser":      (*signInSite).testBrowser,
		"device":       (*signInSite).testDevice,
		"renewal":      (*signInSite).testRenewal,
		"issuer down":  (*signInSite).testFailure,
		"other issuer": (*signInSite).testOwnIssuer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(site.from(t))
		})
	}
}

func (s *signInSite) testBrowser() {
	out, err := s.login(func(says string) {
		u, err := url.Parse(regexp.MustCompile(`http://\S+`).FindString(says))
		if err != nil {
			s.Fatal(err)
		}
		back := u.Query().Get("redirect_uri")
		for _, forged := range []string{back, back + "?code=x", back + "?state=guess&code=x&iss=" + s.base + "/signin"} {
			reply, err := http.Get(forged)
			if err != nil {
				s.Fatal(err)
			}
			reply.Body.Close()
			if reply.StatusCode != http.StatusBadRequest {
				s.Errorf("a redirect without the state, %s, gives %s", forged, reply.Status)
			}
		}
		if page := s.walk(says, "allow"); !strings.Contains(page, "You may close this window") {
			s.Errorf("the browser ends at %s", page)
		}
	}, "--no-browser")
	if err != nil || !strings.Contains(out, "signed in to "+s.base+"/core as alice\n") {
		s.Fatalf("login = %v %s", err, out)
	}
	s.wantSignedIn()
}

// testDevice signs in on another device. It is slow, because the program waits before
// each poll.
func (s *signInSite) testDevice() {
	var both sync.WaitGroup
	both.Go(func() {
		denied := s.from(s.T)
		out, err := denied.login(func(says string) { denied.walkDevice(says, "deny") }, "--device")
		if err == nil || !strings.Contains(out, "the sign-in was denied") {
			s.Errorf("a login that is denied = %v %s", err, out)
		}
	})
	out, err := s.login(func(says string) { s.walkDevice(says, "allow") }, "--device")
	if err != nil || !strings.Contains(out, "signed in to "+s.base+"/core as alice\n") {
		s.Errorf("login = %v %s", err, out)
	} else {
		s.wantSignedIn()
	}
	both.Wait()
}

// walkDevice opens the device page as alice, and enters the code that the program
// printed in says.
func (s *signInSite) walkDevice(says, decision string) {
	s.Helper()
	words := strings.Fields(says[strings.Index(says, "http://"):])
	if page := s.walk(words[0]+"?user_code="+words[1], decision); !strings.Contains(page, "You can close this page") {
		s.Errorf("the device page ends at %s", page)
	}
}

// testRenewal lets several processes renew the same token at the same time. Only one of
// them may send the refresh token: if two did, the issuer would revoke the sign-in.
func (s *signInSite) testRenewal() {
	if out, err := s.login(func(says string) { s.walk(says, "allow") }, "--no-browser"); err != nil {
		s.Fatalf("login = %v %s", err, out)
	}
	for name, spoil := range map[string]func(*login.Login){
		"about to expire": age,
		"refused":         func(l *login.Login) { l.AccessToken = "no.such.token" },
	} {
		before, keep := s.kept()
		spoilt := before
		spoil(&spoilt)
		keep(spoilt)
		var all sync.WaitGroup
		for range 6 {
			all.Go(s.wantSignedIn)
		}
		all.Wait()
		after, _ := s.kept()
		if after.AccessToken == before.AccessToken || after.RefreshToken == before.RefreshToken || after.User != "alice" {
			s.Errorf("%s: the sign-in is not renewed", name)
		}
		s.wantSignedIn()
		if again, _ := s.kept(); again != after {
			s.Errorf("%s: a valid sign-in is renewed", name)
		}
	}
}

// testOwnIssuer signs in to a second server, which trusts the issuer of the first
// server. The second server accepts only ID tokens of that issuer, whose audience is
// the client id of this program.
func (s *signInSite) testOwnIssuer() {
	issuer := s
	s = newSignInSite(s.T, "--issuer", "url="+issuer.base+"/signin,alias=corp,audience=annals-cli")
	out, err := s.login(func(says string) { s.walk(says, "allow") }, "--no-browser", "--resource", issuer.base+"/core")
	if err != nil || !strings.Contains(out, issuer.base+"/signin/authorize?") {
		s.Fatalf("login = %v %s", err, out)
	}
	s.wantSignedIn()
	l, keep := s.kept()
	if l.Issuer != issuer.base+"/signin" || !l.ByIDToken {
		s.Errorf("kept is a sign-in at %s, by ID token: %v", l.Issuer, l.ByIDToken)
	}
	age(&l)
	keep(l)
	s.wantSignedIn()
	if again, _ := s.kept(); again.IDToken == l.IDToken || !again.ByIDToken {
		s.Error("the ID token is not renewed")
	}
}

func (s *signInSite) testFailure() {
	if out, err := s.login(func(says string) { s.walk(says, "allow") }, "--no-browser"); err != nil {
		s.Fatalf("login = %v %s", err, out)
	}
	l, keep := s.kept()
	age(&l)
	l.TokenURL = "http://127.0.0.1:1/token"
	keep(l)
	s.wantSignedIn()
	l.Expires = time.Now()
	keep(l)
	if out, err := s.run("whoami"); err == nil || !strings.Contains(out, "connection refused") || strings.Contains(out, "sign in again") {
		s.Errorf("whoami when the token has expired = %v %s", err, out)
	}
	l.RevocationURL = "http://127.0.0.1:1/revoke"
	keep(l)
	if out, err := s.run("logout"); err == nil || !strings.Contains(out, "it is deleted only on this machine") {
		s.Errorf("logout = %v %s", err, out)
	}
	if out, err := s.run("whoami"); err == nil || !strings.Contains(out, "nobody is signed in") {
		s.Errorf("whoami after logout = %v %s", err, out)
	}
}
