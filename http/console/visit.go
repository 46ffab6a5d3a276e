package console

import (
	"bytes"
	"encoding/json"
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
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin") // not on the pages of the sign-in, because clients open them in windows of their own
		if c.origin.Check(r) != nil {
			// It has no cookies, so it would be taken for a form that was sent after the session had
			// ended, and get a form token and the cookie of another browser.
			http.Error(w, "This request was sent by a page of another site, so it is refused.", http.StatusForbidden)
			return
		}
		s, found, err := c.Sessions.Of(w, r)
		v := &visit{Request: r, w: w, console: c, session: s}
		switch {
		case err != nil:
			c.Logger.WarnContext(r.Context(), "cannot check the session of a browser", "error", err)
			w.Header().Set("Retry-After", "5")
			err = &problem{Status: http.StatusServiceUnavailable, Sentence: "Your sign-in cannot be checked at the moment. Try again in a few seconds."}
		case !found:
			c.signIn(v)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead && !v.fromConsole():
			v.drain()
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
		v.refuseScript(&problem{Status: http.StatusUnauthorized, Sentence: "You are no longer signed in."})
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
	if mode := v.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode != "navigate"
	}
	return strings.HasPrefix(v.URL.Path, handThrough)
}

// refuseScript replies to a script as the vault does.
func (v *visit) refuseScript(p *problem) {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(p.Status)
	_ = json.NewEncoder(v.w).Encode(map[string]string{"message": p.Sentence}) // an error means that the visitor has left
}

// resend shows a form that was sent after the session had ended, so that nothing in it is
// lost: the visitor signs in in another tab and sends it again. Files are not kept, so a form
// with files has to be sent again from its own page, to which the browser goes back.
func (c *Console) resend(v *visit) {
	fields, files := url.Values{}, strings.HasPrefix(v.Header.Get("Content-Type"), "multipart/form-data")
	if files {
		v.drain()
	}
	if strings.HasPrefix(v.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		v.Body = http.MaxBytesReader(v.w, v.Body, maxForm)
		if v.ParseForm() == nil {
			fields = v.PostForm
		}
	}
	c.show(v, http.StatusUnauthorized, "resend", page{Title: "Sign in again", Content: struct {
		Action string
		Fields url.Values
		Files  bool
	}{v.URL.RequestURI(), fields, files}})
}

// drain reads the rest of a form with files, because browsers show a reply only after they have
// sent all of it.
func (v *visit) drain() { _, _ = io.CopyN(io.Discard, v.Body, maxDrained) }

// maxDrained is the maximum length in bytes of the rest of a form that is read.
const maxDrained = 64 << 20

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

// fail shows an error as a page. Scripts that call the REST interface get JSON; others read
// pages, as people do.
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
	if v.byScript() && strings.HasPrefix(v.URL.Path, handThrough) {
		v.refuseScript(p)
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
