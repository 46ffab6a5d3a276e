package service

import (
	"context"
	"fmt"
	"io"

	"annals/cmd/annals/terminal"
)

// welcome prints how to use the service.
func (s *service) welcome(_ context.Context, out io.Writer) error {
	program, flags := s.config.Program, s.config.AccountFlags()
	fmt.Fprintf(out, "Annals %s serves %s\n\n", s.config.Version, s.config.Data)
	fmt.Fprintf(out, "  core    %s\n  vault   %s\n  agents  %s\n  sign-in %s\n\n", s.urls.core, s.urls.vault, s.urls.mcp, s.urls.issuer)
	if s.metricsAt != nil {
		fmt.Fprintf(out, "  metrics http://%s/metrics\n\n", s.metricsAt.Addr())
	}
	if s.server.Console != nil {
		pages := *s.urls.issuer
		pages.Path = "/"
		fmt.Fprintf(out, "Open %s in a browser to ask, browse and import.\n", &pages)
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

// welcomeAdmin prints how the user admin, whom this start has created, signs in. It
// prints the password only to a terminal, because other output may be stored in a log.
func (s *service) welcomeAdmin(out io.Writer, program, flags string) {
	switch {
	case s.config.AdminPasswordFile != "":
		fmt.Fprintf(out, "The user admin was created, with the password in %s.\nSign in at %s. ", s.config.AdminPasswordFile, s.urls.issuer)
	case terminal.Is(out):
		fmt.Fprintf(out, "The user admin was created, with this password, which is not shown again: %s\nSign in at %s. ", s.password, s.urls.issuer)
	default:
		fmt.Fprintf(out, "The user admin was created. To sign in at %s, set its password:\n\n"+
			"  %[2]s user link admin%[3]s      # prints a link, valid once within an hour\n  %[2]s user password admin%[3]s  # or reads a password\n\n", s.urls.issuer, program, flags)
	}
	fmt.Fprintf(out, "Anyone who can read the data folder can also get a token with %s token NAME%s.\n\n", program, flags)
}
