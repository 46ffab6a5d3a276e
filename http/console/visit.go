package console

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"annals/http/console/session"
	"annals/http/webpage"
)

// visit is a request of a browser in which somebody is signed in.
type visit struct {
	*http.Request
	w       http.ResponseWriter
	console *Console
	session session.Session
	parts   *multipart.Reader // the rest of a form with files, of which the token was read; nil for others
}

// policy is what the pages may load and where their forms go. Everything comes from this host,
// and there are no scripts or styles in the pages themselves.
const policy = "script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'"

// visit returns a handler that lets visitors sign in first, and refuses changes that no page
// of this console sent.
func (c *Console) visit(handle func(*Console, *visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		webpage.Guard(w.Header(), policy)
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin") // the pages of sign-in have it not, because clients open them in windows of their own
		s, found, err := c.Sessions.Of(w, r)
		v := &visit{Request: r, w: w, console: c, session: s}
		switch {
		case err != nil:
		case !found:
			c.signIn(v)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead && !v.fromConsole():
			err = &problem{Status: http.StatusForbidden, Sentence: "This page is out of date. Load it again, and send the form once more."}
		default:
			err = handle(c, v)
		}
		if err != nil {
			c.fail(v, err)
		}
	})
}

// fromConsole reports whether a page of this console sent a change. Of a form with files it
// reads the token, which is the first field of such forms, so that the files can be streamed
// to where they belong.
func (v *visit) fromConsole() bool {
	kind, _, err := mime.ParseMediaType(v.Header.Get("Content-Type"))
	if err == nil && kind == "multipart/form-data" && v.Header.Get(session.FormHeader) == "" {
		if v.parts, err = v.MultipartReader(); err != nil {
			return false
		}
		first, err := v.parts.NextPart()
		if err != nil || first.FormName() != session.FormField {
			return false
		}
		token, err := io.ReadAll(io.LimitReader(first, maxToken))
		if err != nil {
			return false
		}
		v.PostForm = url.Values{session.FormField: {string(token)}}
	}
	return v.console.Sessions.CheckCSRF(v.Request)
}

// maxToken is the maximum length of a form token in bytes.
const maxToken = 1 << 10

// signIn sends a browser to the sign-in. Scripts get a status that tells them so.
func (c *Console) signIn(v *visit) {
	if v.byScript() {
		v.w.Header().Set("Content-Type", "application/json")
		v.w.WriteHeader(http.StatusUnauthorized)
		_, _ = v.w.Write([]byte(`{"message":"You are no longer signed in."}`))
		return
	}
	if v.Method != http.MethodGet && v.Method != http.MethodHead {
		c.resend(v)
		return
	}
	redirect(v.w, session.LoginPath+"?to="+url.QueryEscape(v.URL.RequestURI()))
}

// byScript reports whether a script or picture of a page sent the request, and not the
// browser itself.
func (v *visit) byScript() bool {
	mode := v.Header.Get("Sec-Fetch-Mode")
	return mode != "" && mode != "navigate" || strings.HasPrefix(v.URL.Path, handThrough)
}

// resend shows a form that was sent after the session had ended, so that nothing in it is
// lost: the visitor signs in in another tab and sends it again.
func (c *Console) resend(v *visit) {
	fields := url.Values{}
	if strings.HasPrefix(v.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		v.Body = http.MaxBytesReader(v.w, v.Body, maxForm)
		if v.ParseForm() == nil {
			fields = v.PostForm
		}
	}
	c.show(v, http.StatusUnauthorized, "resend", page{Title: "Sign in again", Content: struct {
		Action string
		Fields url.Values
	}{v.URL.RequestURI(), fields}})
}

// maxForm is the maximum length of a form in bytes.
const maxForm = 1 << 20

// form returns the fields of a form.
func (v *visit) form() (url.Values, error) {
	v.Body = http.MaxBytesReader(v.w, v.Body, maxForm)
	if err := v.ParseForm(); err != nil {
		return nil, errFormUnread
	}
	return v.PostForm, nil
}

// formWithFile returns the fields of a form, and its file. The file must be the last field, and
// is read while it is used. It is nil if none was chosen.
func (v *visit) formWithFile() (fields url.Values, file io.Reader, err error) {
	if v.parts == nil {
		fields, err = v.form()
		return fields, nil, err
	}
	fields = url.Values{}
	for room := int64(maxForm); ; {
		part, err := v.parts.NextPart()
		switch {
		case err == io.EOF:
			return fields, nil, nil
		case err != nil:
			return nil, nil, errFormUnread
		case part.FileName() != "":
			return fields, part, nil
		}
		text, err := io.ReadAll(io.LimitReader(part, room+1))
		if room -= int64(len(text)); err != nil || room < 0 {
			return nil, nil, errFormUnread
		}
		fields.Add(part.FormName(), string(text))
	}
}

var errFormUnread = &problem{Status: http.StatusBadRequest, Sentence: "The form could not be read."}

// fail shows an error: to scripts as JSON, to people as a page.
func (c *Console) fail(v *visit, err error) {
	var p *problem
	if !errors.As(err, &p) {
		if v.Context().Err() != nil {
			return // the visitor has left
		}
		c.Logger.ErrorContext(v.Context(), "a page failed", "path", v.URL.Path, "error", err)
		p = &problem{Status: http.StatusInternalServerError, Sentence: "This did not work, because the service failed. Try again in a moment."}
	}
	if p.Status == http.StatusUnauthorized {
		c.signIn(v)
		return
	}
	c.show(v, p.Status, "problem", page{Title: p.title(), Content: p})
}

// page is what every template gets.
type page struct {
	Title   string
	Section string // the entry of the navigation that is marked
	Query   string // text in the field of the page's head
	Scripts []string
	Content any

	// Set by show.
	User   string
	Admin  bool
	CSRF   string
	Issuer string // path of the sign-in
}

// show writes a page.
func (c *Console) show(v *visit, status int, name string, p page) {
	p.User, p.Admin = v.session.User.Principal.Name(), v.session.User.Admin
	p.CSRF, p.Issuer = c.Sessions.CSRF(v.w, v.Request), strings.TrimSuffix(c.IssuerURL.EscapedPath(), "/")
	var body bytes.Buffer
	if err := templates[name].ExecuteTemplate(&body, "layout", p); err != nil {
		c.Logger.ErrorContext(v.Context(), "a page cannot be written", "page", name, "error", err)
		http.Error(v.w, "This did not work, because the service failed.", http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(body.Bytes()) // an error means that the visitor has left
}
