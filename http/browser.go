package http

import (
	"bytes"
	htmltemplate "html/template"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"annals/events"
	"annals/http/problem"
	"annals/http/signin/provider"
	"annals/http/webpage"
)

// A browser that opens a deep link without a token is sent to the sign-in, and returns
// with a cookie. The cookie gives access only to the originals that its user may read.
// Requests with a token, and those that do not accept HTML, are handled as on other routes.

// forBrowsers handles deep links that are opened in a browser, and passes all other requests
// to next.
func (s *Server) forBrowsers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Values("Authorization")) > 0 {
			next.ServeHTTP(w, r)
			return
		}
		if s.Reader != nil {
			user, found, err := s.Reader(r)
			if err == nil && found {
				NoteUser(r.Context(), user)
				err = s.handleFor(w, r, user, problem.Vault, (*Server).openLink)
			}
			if err != nil {
				s.log(r, err)
				s.showProblem(w, r, user, err)
			}
			if found || err != nil {
				return
			}
		}
		switch {
		case !wantsPage(r):
			next.ServeHTTP(w, r)
		case s.Reader == nil:
			s.showPage(w, r, http.StatusUnauthorized, "This link needs a program",
				"People cannot sign in here by browser. Open the document with a program that is signed in.", "")
		default:
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Location", s.signInFor(r))
			w.WriteHeader(http.StatusSeeOther)
		}
	})
}

// openLink is deepLink for browsers: it replies with a page if the document cannot be shown.
func (s *Server) openLink(c *call) (any, error) {
	c.page = true
	return s.deepLink(c)
}

// wantsPage reports whether the Accept header of a request contains text/html, as in browsers.
func wantsPage(r *http.Request) bool {
	for _, accepted := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(accepted, ",") {
			if media, _, err := mime.ParseMediaType(part); err == nil && media == "text/html" {
				return true
			}
		}
	}
	return false
}

// signInFor returns the URL to which a browser that is not signed in is redirected from a
// document. The sign-in can set a cookie only for its own host. If the request came to another
// host, the URL is that of the document on the host of the sign-in. Otherwise it is that of
// the sign-in.
func (s *Server) signInFor(r *http.Request) string {
	if s.ownHost(s.IssuerURL) && !sameHost(s.IssuerURL, r.Host) {
		return Link(s.IssuerURL, r.URL.EscapedPath())
	}
	return strings.TrimSuffix(s.IssuerURL.EscapedPath(), "/") + provider.DocumentStep + "?to=" + url.QueryEscape(r.URL.Path)
}

// shownAs returns the Content-Type and Content-Disposition for an original in a browser. HTML
// is never rendered.
func shownAs(media string) (as, disposition string) {
	kind, _, err := mime.ParseMediaType(media)
	switch {
	case err == nil && kind == "application/pdf":
		return kind, "inline"
	case err == nil && strings.HasPrefix(kind, "text/"):
		return "text/plain; charset=utf-8", "inline"
	}
	return "application/octet-stream", "attachment"
}

var problemPage = htmltemplate.Must(htmltemplate.New("").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{.Title}} · Annals</title>
<link rel="stylesheet" href="{{.SignIn}}/style.css">
</head>
<body>
<main>
<p class="brand">Annals</p>
<h1>{{.Title}}</h1>
<p role="alert">{{.Text}}</p>
{{with .User}}<p class="note">You are signed in as <strong>{{.}}</strong>. <a href="{{$.SignIn}}/">Sign out, or in as somebody else</a></p>
{{end}}</main>
</body>
</html>
`))

// showProblem writes a page with the reason why a document is not shown. The page is the same
// for a document that does not exist and for one that the user may not read.
func (s *Server) showProblem(w http.ResponseWriter, r *http.Request, user events.User, err error) {
	status, _ := problem.Describe(err)
	title, text := "This did not work", "The document cannot be shown because the service failed. Try again later."
	switch {
	case status == http.StatusNotFound || status == http.StatusForbidden:
		status, title, text = http.StatusNotFound, "No such document", "There is no such document, or you may not read it."
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		text = "The document cannot be shown at the moment. Try again in a few seconds."
		w.Header().Set("Retry-After", "5")
	case status < http.StatusInternalServerError:
		text = "The request for the document is invalid."
	}
	s.showPage(w, r, status, title, text, user.Principal.Name())
}

// showPage writes an error page.
func (s *Server) showPage(w http.ResponseWriter, r *http.Request, status int, title, text, user string) {
	var body bytes.Buffer
	err := problemPage.Execute(&body, struct{ Title, Text, User, SignIn string }{title, text, user, strings.TrimSuffix(s.IssuerURL.EscapedPath(), "/")})
	if err != nil {
		s.log(r, err)
	}
	webpage.Write(w, status, "style-src 'self'; form-action 'none'", body.Bytes())
}
