package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// welcome says how to use the service.
func (s *service) welcome(_ context.Context, out io.Writer) error {
	program, flags := programName(), s.config.tokenFlags()
	fmt.Fprintf(out, "Annals %s serves %s\n\n", version(), s.config.data)
	fmt.Fprintf(out, "  core    %s\n  vault   %s\n  agents  %s\n  sign-in %s\n\n", s.urls.core, s.urls.vault, s.urls.mcp, s.urls.issuer)
	if s.metricsAt != nil {
		fmt.Fprintf(out, "  metrics http://%s/metrics\n\n", s.metricsAt.Addr())
	}
	if s.adminMade {
		s.welcomeAdmin(out, program, flags)
	}
	_, err := fmt.Fprintf(out, `Import something and ask, in another terminal:

  TOKEN=$(%[1]s token admin%[2]s)
  printf '# Lighthouses\n\nThe lighthouse at Eddystone was finished in 1759 by John Smeaton.\n' |
    curl -sN -H "Authorization: Bearer $TOKEN" -F 'files=@-;filename=lighthouses.md' '%[3]s/ingest?stream=true'
  curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
    -d '{"query": "Who finished the lighthouse at Eddystone?"}' %[3]s/ask

`, program, flags, s.urls.core)
	return err
}

// welcomeAdmin says how the new user admin signs in. The password is shown on a
// terminal alone: anything else may be kept in a log.
func (s *service) welcomeAdmin(out io.Writer, program, flags string) {
	switch {
	case s.config.adminPasswordFile != "":
		fmt.Fprintf(out, "The user admin was created, with the password in %s.\nSign in at %s. ", s.config.adminPasswordFile, s.urls.issuer)
	case isTerminal(out):
		fmt.Fprintf(out, "The user admin was created, with this password, which is shown once: %s\nSign in at %s. ", s.password, s.urls.issuer)
	default:
		fmt.Fprintf(out, "The user admin was created. To sign in at %s, set its password:\n\n"+
			"  %[2]s user link admin%[3]s      # prints a link, good once within an hour\n  %[2]s user password admin%[3]s  # or reads a password\n\n", s.urls.issuer, program, flags)
	}
	fmt.Fprintf(out, "Whoever may read the data folder also gets a token by %s token NAME%s.\n\n", program, flags)
}

// isTerminal reports whether people see what is written, and nothing keeps it.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// tokenFlags are what annals token is to be given besides, to find the accounts. A
// password is for whoever calls it to fill in: what is printed here is kept in logs.
func (c *serveConfig) tokenFlags() (flags string) {
	if c.data != "annals-data" {
		flags += " --data " + quoted(c.data)
	}
	if c.accounts != "" {
		flags += " --" + accountsFlag + " " + quoted(withoutPassword(c.accounts))
	}
	return flags
}

// quoted writes a text as a word of the shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// withoutPassword returns a URL with a word in place of its password.
func withoutPassword(text string) string {
	const word = "PASSWORD"
	u, err := url.Parse(text)
	if err != nil {
		return word
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil { // what cannot be read may be a password
		return word
	}
	if _, set := u.User.Password(); set {
		u.User = url.UserPassword(u.User.Username(), word)
	}
	for _, name := range []string{"password", "sslpassword"} {
		if query.Has(name) {
			query.Set(name, word)
			u.RawQuery = query.Encode()
		}
	}
	return u.String()
}

// programName is how the person who started this program would call it again.
func programName() string {
	path, err := os.Executable()
	if err == nil && filepath.Base(filepath.Dir(path)) == "exe" {
		return "go run ./cmd/annals"
	}
	return os.Args[0]
}
