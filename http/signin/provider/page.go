package provider

import (
	"bytes"
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
)

//go:embed templates scripts
var templateFiles embed.FS

var templates = template.Must(template.New("").ParseFS(templateFiles, "templates/*.html"))

// view is the data of a page's template.
type view struct {
	Title   string
	Base    string   // path of the issuer's URL, without a slash at the end
	Token   string   // for forms to bring back
	User    string   // "" if nobody is signed in
	Problem string   // what was wrong with what was sent
	Scripts []string // modules
	Content any

	status      int
	formTargets string // form-action sources besides this service
}

// show writes a page.
func (p *Provider) show(w http.ResponseWriter, v visitor, name string, page view) error {
	page.Base, page.Token, page.User = p.pathTo(""), v.formToken(), v.user
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, name, page); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	policy := "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
	if len(page.Scripts) > 0 {
		policy += "script-src 'self'; worker-src 'self'; connect-src 'self'; "
	}
	// Browsers apply form-action to redirects after a form, too.
	h.Set("Content-Security-Policy", strings.TrimSpace(policy+"form-action 'self' "+page.formTargets))
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // without one, browsers send forms with the origin "null"
	h.Set("Cache-Control", "no-store")
	if page.status != 0 {
		w.WriteHeader(page.status)
	}
	_, _ = w.Write(body.Bytes())
	return nil
}

// problem is an error that is shown to the user as a page.
type problem struct {
	status int
	text   string
	wait   time.Duration
	proof  bool // of work is what is missing
}

func (e *problem) Error() string { return e.text }

func problemf(status int, text string) error { return &problem{status: status, text: text} }

// page returns the handler of a page.
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

// form returns the handler of a form. Forms that other sites submit are rejected, by their
// Origin and by the form token.
func (p *Provider) form(take func(w http.ResponseWriter, r *http.Request, v visitor) error) http.HandlerFunc {
	return p.page(func(w http.ResponseWriter, r *http.Request, v visitor) error {
		p.sweep(r.Context())
		r.Body = http.MaxBytesReader(w, r.Body, oauth.MaxForm)
		if err := r.ParseForm(); err != nil {
			return problemf(http.StatusBadRequest, "The form could not be read.")
		}
		if p.origin.Check(r) != nil || !v.validToken(r.PostForm.Get("token")) {
			return problemf(http.StatusForbidden, "This page was open for too long, or did not come from here. Go back, load it again, and try once more.")
		}
		return take(w, r, v)
	})
}

// showError writes an error page.
func (p *Provider) showError(ctx context.Context, w http.ResponseWriter, v visitor, err error) {
	shown := problemOf(err)
	if shown == nil {
		if ctx.Err() == nil {
			p.logger.ErrorContext(ctx, "a sign-in page failed", "error", err)
		}
		shown = &problem{status: http.StatusInternalServerError, text: "The sign-in service failed. Try again later."}
		if fault.Is(err, fault.Unavailable) {
			shown = &problem{status: http.StatusServiceUnavailable, text: "The sign-in service cannot answer at the moment. Try again in a few seconds.", wait: unavailableRetry}
		}
	}
	(&oauth.Error{Status: shown.status, Wait: shown.wait}).WriteHeaders(w)
	if err := p.show(w, v, "error.html", view{Title: "This did not work", Problem: shown.text, status: shown.status}); err != nil {
		p.logger.ErrorContext(ctx, "a sign-in page cannot be shown", "error", err)
	}
}

// problemOf returns an error as it may be shown to users, or nil for internal errors.
func problemOf(err error) *problem {
	var shown *problem
	var refused *oauth.Error
	switch {
	case errors.As(err, &shown):
		return shown
	case errors.As(err, &refused):
		return &problem{status: http.StatusBadRequest, text: "The program that sent you here asked for something that cannot be: " + refused.Description + ".", wait: refused.Wait}
	case fault.Is(err, fault.Invalid):
		return &problem{status: http.StatusUnprocessableEntity, text: err.Error()}
	}
	return nil
}

// step is where the browser continues after the sign-in: one of these pages, whatever the form
// says.
type step struct{ Page, Query string }

// readStep reads the step that a form carries.
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
	if s.Page == "authorize" { // the password was given just now
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

// scripts adds the scripts that the step needs to those of a page.
func (s step) scripts(names ...string) []string {
	if s.Page == "document" {
		names = append(names, "fragment.js") // after the rest
	}
	return names
}

func (p *Provider) redirectToStep(w http.ResponseWriter, s step) { redirect(w, p.stepPath(s)) }

// stepPath returns the path of a step.
func (p *Provider) stepPath(s step) string {
	to := p.pathTo("/" + s.Page)
	if s.Query != "" {
		to += "?" + s.Query
	}
	return to
}

// script serves one of the pages' modules.
func script(name string) route {
	return route{get: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300") // they belong together
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// A worker has the policy of its own script.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; frame-ancestors 'none'")
		http.ServeFileFS(w, r, templateFiles, "scripts/"+name)
	}}
}

// style serves the stylesheet.
func style(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=3600")
	http.ServeFileFS(w, r, templateFiles, "templates/style.css")
}
