package provider

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"annals/events/fault"
	"annals/http/signin/provider/oauth"
	"annals/http/webpage"
)

//go:embed templates scripts
var templateFiles embed.FS

var templates = template.Must(template.New("").ParseFS(templateFiles, "templates/*.html"))

// view is the data that all page templates have in common.
type view struct {
	Title   string
	Base    string   // path of the issuer's URL, without a trailing slash
	Token   string   // form token
	User    string   // "" if nobody is signed in
	Problem string   // what is wrong with the submitted form
	Scripts []string // names of the page's JavaScript modules
	Content any

	status      int    // HTTP status; 0 for 200
	formTargets string // origins besides 'self' in form-action of the Content-Security-Policy
}

// show writes a page.
func (p *Provider) show(w http.ResponseWriter, v visitor, name string, page view) error {
	page.Base, page.Token, page.User = p.pathTo(""), v.formToken(), v.user
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, name, page); err != nil {
		return err
	}
	policy := "style-src 'self'; "
	if len(page.Scripts) > 0 {
		policy += "script-src 'self'; worker-src 'self'; connect-src 'self'; "
	}
	// Browsers apply form-action also to the redirects in the response to a form.
	policy = strings.TrimSpace(policy + "form-action 'self' " + page.formTargets)
	webpage.Write(w, cmp.Or(page.status, http.StatusOK), policy, body.Bytes())
	return nil
}

// showWith shows a page. If wrong is not nil, the page also shows that problem, and the
// response has the problem's status.
func (p *Provider) showWith(w http.ResponseWriter, v visitor, name string, page view, wrong *problem) error {
	if wrong != nil {
		page.Problem, page.status = wrong.text, wrong.status
		(&oauth.Error{Wait: wrong.wait}).WriteHeaders(w)
	}
	return p.show(w, v, name, page)
}

// problem is an error that users see on a page.
type problem struct {
	status int
	text   string
	wait   time.Duration
	proof  bool // whether the error is a missing proof of work
}

func (e *problem) Error() string { return e.text }

func problemf(status int, text string) error { return &problem{status: status, text: text} }

// page returns the HTTP handler of a page. It shows errors of render as a page.
func (p *Provider) page(render func(w http.ResponseWriter, r *http.Request, v visitor) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := p.visitor(r)
		if err == nil {
			err = render(w, r, v)
		}
		if err != nil {
			p.showError(r.Context(), w, v, err)
		}
	}
}

// form returns the HTTP handler of a form. It rejects forms of other sites: it checks the
// Origin header and the form token.
func (p *Provider) form(take func(w http.ResponseWriter, r *http.Request, v visitor) error) http.HandlerFunc {
	return p.page(func(w http.ResponseWriter, r *http.Request, v visitor) error {
		p.sweep(r.Context())
		r.Body = http.MaxBytesReader(w, r.Body, oauth.MaxForm)
		if err := r.ParseForm(); err != nil {
			return problemf(http.StatusBadRequest, "The form could not be read.")
		}
		if p.origin.Check(r) != nil || !v.validToken(r.PostForm.Get("token")) {
			return problemf(http.StatusForbidden, "This form was open for too long, or was not sent from this service. Go back, reload the page and try again.")
		}
		return take(w, r, v)
	})
}

// showError writes an error page.
func (p *Provider) showError(ctx context.Context, w http.ResponseWriter, v visitor, err error) {
	shown := problemOf(err)
	if shown == nil {
		if ctx.Err() == nil {
			p.logger.ErrorContext(ctx, "a request for a sign-in page failed", "error", err)
		}
		shown = &problem{status: http.StatusInternalServerError, text: "The sign-in service failed. Try again later."}
		if fault.Is(err, fault.Unavailable) {
			shown = &problem{status: http.StatusServiceUnavailable, text: "The sign-in service is temporarily unavailable. Try again in a few seconds.", wait: unavailableRetry}
		}
	}
	(&oauth.Error{Status: shown.status, Wait: shown.wait}).WriteHeaders(w)
	if err := p.show(w, v, "error.html", view{Title: "This did not work", Problem: shown.text, status: shown.status}); err != nil {
		p.logger.ErrorContext(ctx, "the error page of the sign-in service failed", "error", err)
	}
}

// problemOf returns an error as users see it, or nil if it is an internal error.
func problemOf(err error) *problem {
	var shown *problem
	var invalid *oauth.Error
	switch {
	case errors.As(err, &shown):
		return shown
	case errors.As(err, &invalid):
		return &problem{status: http.StatusBadRequest, text: "The program that sent you here sent an invalid request: " + invalid.Description + ".", wait: invalid.Wait}
	case fault.Is(err, fault.Invalid):
		return &problem{status: http.StatusUnprocessableEntity, text: err.Error()}
	}
	return nil
}

// step is the page at which the browser continues after the sign-in, with its query.
type step struct{ Page, Query string }

// readStep returns the step in the fields of a form. It accepts only known pages. Otherwise a
// manipulated form could redirect the browser to another site.
func readStep(form url.Values) step {
	s := step{Page: form.Get("page")}
	query, err := url.ParseQuery(form.Get("query"))
	if !slices.Contains([]string{"authorize", "device", "security", "document"}, s.Page) || err != nil {
		return step{}
	}
	if s.Page == "document" {
		if !documentLink.MatchString(query.Get("to")) {
			return step{}
		}
		query = url.Values{"to": {query.Get("to")}}
	}
	if s.Page == "authorize" { // the user has just signed in, as prompt and max_age may require
		consent := slices.Contains(strings.Fields(query.Get("prompt")), "consent")
		query.Del("max_age")
		query.Del("prompt")
		if consent {
			query.Set("prompt", "consent")
		}
	}
	s.Query = query.Encode()
	return s
}

// scripts returns names, the scripts of a page, and the scripts that the step needs on that
// page.
func (s step) scripts(names ...string) []string {
	if s.Page == "document" {
		names = append(names, "fragment.js") // last, because it changes addresses by which the others find forms
	}
	return names
}

func (p *Provider) redirectToStep(w http.ResponseWriter, s step) { redirect(w, p.stepPath(s)) }

// stepPath returns the path and query of a step.
func (p *Provider) stepPath(s step) string {
	to := p.pathTo("/" + s.Page)
	if s.Query != "" {
		to += "?" + s.Query
	}
	return to
}

// destination returns the title of the client that the user signs in to, and the origins to
// which forms may redirect until then (form-action of the Content-Security-Policy). Both are
// "" if next is not an authorization request.
func (p *Provider) destination(r *http.Request, next step) (client, formTargets string) {
	if next.Page != "authorize" {
		return "", ""
	}
	a, err := p.parseAuthorization(r, next.Query)
	if err != nil {
		return "", ""
	}
	return a.shown()
}

// script serves a JavaScript module of the pages.
func script(name string) route {
	return route{get: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300") // short, so that modules of two versions are not mixed for long
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// A web worker has the Content-Security-Policy of its script, not the policy of the
		// page.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; frame-ancestors 'none'")
		http.ServeFileFS(w, r, templateFiles, "scripts/"+name)
	}}
}

// style serves the stylesheet.
func style(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=3600")
	http.ServeFileFS(w, r, templateFiles, "templates/style.css")
}
