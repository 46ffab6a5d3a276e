package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// handThrough is the path below which scripts and pictures of pages reach the REST
// interface: /console/api/core/... and /console/api/vault/...
const handThrough = "/console/api/"

// maxReply is the maximum length in bytes of a reply that a page is made of.
const maxReply = 64 << 20

// problem is an error of a call of the REST interface, or of a page.
type problem struct {
	Status   int
	Sentence string
	Body     []byte // of the reply
}

func (p *problem) Error() string { return p.Sentence }

func (p *problem) title() string {
	switch p.Status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusGone:
		return "Deleted"
	case http.StatusForbidden:
		return "You may not do this"
	case http.StatusConflict:
		return "Somebody else was faster"
	case http.StatusTooManyRequests:
		return "Too much at once"
	case http.StatusServiceUnavailable:
		return "Not available now"
	}
	return "This did not work"
}

// call is a call of the REST interface.
type call struct {
	method, path string // the path begins with /core/ or /vault/
	query        url.Values
	body         any    // sent as JSON, or as it is if it is an io.Reader; nil for none
	kind         string // content type of an io.Reader; "" for application/octet-stream
	match        string
	key          string // Idempotency-Key; "" for none
	status       *int   // set to the status of the reply, unless nil
}

// get decodes the reply to a GET into out.
func (v *visit) get(path string, query url.Values, out any) error {
	_, err := v.send(v.Context(), call{method: "GET", path: path, query: query}, out)
	return err
}

// send makes a call and decodes its reply into out, unless that is nil. Its error is a
// *problem if the call was refused.
func (v *visit) send(ctx context.Context, q call, out any) (http.Header, error) {
	var body io.Reader = http.NoBody
	kind := "application/json"
	switch content := q.body.(type) {
	case nil:
	case io.Reader:
		body, kind = content, cmp.Or(q.kind, "application/octet-stream")
	default:
		text, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	r, err := v.request(ctx, q.method, q.path, q.query, body)
	if err != nil {
		return nil, err
	}
	if q.body != nil {
		r.Header.Set("Content-Type", kind)
	}
	if _, streamed := q.body.(io.Reader); streamed {
		r.ContentLength = -1 // not known
	}
	if q.match != "" {
		r.Header.Set("If-Match", q.match)
	}
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	w := &reply{header: http.Header{}}
	v.console.rest.ServeHTTP(w, r)
	if q.status != nil {
		*q.status = w.status
	}
	switch {
	case w.err != nil:
		return nil, fmt.Errorf("%s %s: %w", q.method, q.path, w.err)
	case w.status >= http.StatusMultipleChoices:
		return w.header, problemOf(w.status, w.body.Bytes())
	case out == nil || w.body.Len() == 0:
		return w.header, nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return nil, fmt.Errorf("%s %s: decode the reply: %w", q.method, q.path, err)
	}
	return w.header, nil
}

// request returns a request for the REST interface on behalf of the visitor. The access log gets
// the address of the browser.
func (v *visit) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, "/", body)
	if err != nil {
		return nil, err
	}
	v.console.address(r, path, query)
	r.Header.Set("Authorization", "Bearer "+v.session.Token)
	r.RemoteAddr, r.Header["X-Forwarded-For"] = v.RemoteAddr, v.Header["X-Forwarded-For"]
	return r, nil
}

// address sets the host and path of a request for the REST interface.
func (c *Console) address(r *http.Request, path string, query url.Values) {
	base, rest := c.CoreURL, strings.TrimPrefix(path, "/core")
	if after, found := strings.CutPrefix(path, "/vault"); found {
		base, rest = c.VaultURL, after
	}
	r.Host = cmp.Or(base.Host, r.Host)
	r.URL = &url.URL{Path: strings.TrimSuffix(base.Path, "/") + rest, RawQuery: query.Encode()}
	r.RequestURI = ""
}

// problemOf returns the error of a refused call. The core and the vault write errors
// differently.
func problemOf(status int, body []byte) *problem {
	p := &problem{Status: status, Body: body}
	var text struct {
		Detail  json.RawMessage `json:"detail"`
		Message json.RawMessage `json:"message"`
	}
	if json.Unmarshal(body, &text) == nil {
		p.Sentence = capitalized(sentence(text.Detail) + sentence(text.Message))
	}
	switch {
	case status == http.StatusNotFound:
		p.Sentence = "There is no such page, or you may not see it."
	case p.Sentence == "":
		p.Sentence = strconv.Itoa(status) + " " + http.StatusText(status)
	}
	return p
}

// sentence returns the text of an error: it is a text, a list of texts, or a list of objects
// with a msg.
func sentence(raw json.RawMessage) string {
	var text string
	var texts []string
	var fields []struct{ Msg string }
	switch {
	case json.Unmarshal(raw, &text) == nil:
	case json.Unmarshal(raw, &texts) == nil:
		text = strings.Join(texts, "; ")
	case json.Unmarshal(raw, &fields) == nil:
		texts = nil // the attempt before left empty ones
		for _, f := range fields {
			texts = append(texts, f.Msg)
		}
		text = strings.Join(texts, "; ")
	}
	return text
}

// capitalized returns a sentence with its first letter in upper case.
func capitalized(sentence string) string {
	first, size := utf8.DecodeRuneInString(sentence)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + sentence[size:]
}

// reply holds the reply to a call.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
	err    error
}

func (w *reply) Header() http.Header { return w.header }

func (w *reply) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *reply) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(p) > maxReply {
		w.err = fmt.Errorf("the reply has more than %d bytes", maxReply)
		return 0, w.err
	}
	return w.body.Write(p)
}

// forwarded are the headers of a browser's request that the REST interface gets.
var forwarded = []string{"Accept", "Content-Type", "Content-Length", "If-Match", "If-None-Match", "Range", "If-Range", "Idempotency-Key", "Last-Event-Id", "X-Forwarded-For"}

// forward hands a request of a script or picture through to the REST interface, with the
// visitor's token in place of the cookie. The reply goes to the browser as it is made. It is not
// stored, unless the REST interface says how: caches keep replies to cookies that they would
// not keep for requests with a token.
func (c *Console) forward(v *visit) error {
	path := "/" + strings.TrimPrefix(v.URL.Path, handThrough)
	if !strings.HasPrefix(path, "/core/") && !strings.HasPrefix(path, "/vault/") {
		return &problem{Status: http.StatusNotFound, Sentence: "There is no such page."}
	}
	r := v.Clone(v.Context())
	r.Header = http.Header{"Authorization": {"Bearer " + v.session.Token}}
	for _, name := range forwarded {
		if values := v.Header.Values(name); len(values) > 0 {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	c.address(r, path, v.URL.Query())
	c.rest.ServeHTTP(v.w, r)
	return nil
}
