package session

import (
	"bytes"
	"errors"
	"html/template"
	"net/http"

	"annals/events/fault"
	"annals/http/webpage"
)

// page is a page of the sign-in: a sentence, and what the user can do next.
type page struct {
	Title, Text string
	Again       string // address at which the user can sign in; "" if there is none
	Token       string // form token of a button that signs the user out; "" if there is none
	Next        string // address at another host to which the browser continues by itself
	Base        string // path of the built-in sign-in, whose style the page has; set by show
}

// The scheme of Next is checked by issuer.checkEndpoint, because the template cannot recognise
// the URL in the attribute content.
var pages = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
{{with .Next}}<meta http-equiv="refresh" content="0; url={{.}}">
{{end}}<title>{{.Title}} · Annals</title>
<link rel="stylesheet" href="{{.Base}}/style.css">
</head>
<body>
<main>
<p class="brand">Annals</p>
<h1>{{.Title}}</h1>
{{with .Text}}<p role="alert">{{.}}</p>
{{end}}{{with .Next}}<p><a href="{{.}}" rel="noreferrer">Also sign out at your organisation's sign-in</a></p>
{{end}}{{with .Token}}<form method="post" action="/console/logout"><input type="hidden" name="csrf" value="{{.}}"><button type="submit">Sign out</button></form>
{{end}}{{with .Again}}<p><a href="{{.}}">Sign in</a></p>
{{end}}</main>
</body>
</html>
`))

var errDenied = errors.New("the user denied the sign-in")

// fail shows why a sign-in did not succeed.
func (m *Manager) fail(w http.ResponseWriter, r *http.Request, to string, err error) {
	p, status := page{Title: "You are not signed in", Again: loginAt(to)}, http.StatusForbidden
	switch {
	case errors.Is(err, errDenied):
		p.Text = "The sign-in was cancelled. You can try it again."
	case errors.Is(err, errTooBig):
		status, p.Text = http.StatusInternalServerError, "The sign-in service sends more data about you than a browser keeps. Ask your administrator to send fewer claims, such as groups, in its tokens."
	case errors.Is(err, errSetUp):
		status, p.Text = http.StatusInternalServerError, "The sign-in is not set up correctly. Ask your administrator: the log of this service says what is wrong."
	case fault.Is(err, fault.Unauthenticated):
		p.Text = "The sign-in service did not accept the sign-in, or you have no access here. You can try it again; if that does not help, ask your administrator."
	case fault.Is(err, fault.Unavailable):
		w.Header().Set("Retry-After", "5")
		status, p.Text = http.StatusServiceUnavailable, "The sign-in service cannot be reached at the moment. Try again in a few seconds."
	default:
		status, p.Text = http.StatusInternalServerError, "The sign-in failed because of an error of this service. Try again later."
	}
	if r.Context().Err() == nil {
		m.logger.WarnContext(r.Context(), "a sign-in to the console failed", "error", err)
	}
	m.show(w, status, p)
}

// show writes a page.
func (m *Manager) show(w http.ResponseWriter, status int, p page) {
	p.Base = m.signIn
	var body bytes.Buffer
	if err := pages.Execute(&body, p); err != nil {
		m.logger.Error("cannot write a page of the console's sign-in", "error", err)
		status = http.StatusInternalServerError
	}
	webpage.Write(w, status, "style-src 'self'; form-action 'self'", body.Bytes())
}
