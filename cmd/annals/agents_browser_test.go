package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// browser imitates a web browser without JavaScript, used by one person. It keeps
// cookies, follows redirects, fills in the form fields listed in answers, and presses
// the first button of each form.
type browser struct {
	http    *http.Client
	answers map[string]string // maps names of form fields to values
}

// newBrowser returns the browser of a person who knows a name and a password.
func newBrowser(name, password string) *browser {
	jar, _ := cookiejar.New(nil) // cookiejar.New never returns an error
	return &browser{
		http:    &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		answers: map[string]string{"username": name, "password": password},
	}
}

// open opens a page, and submits forms and follows redirects until one leads to another
// site. It returns the URL of that redirect without opening it.
func (b *browser) open(ctx context.Context, address string) (redirected *url.URL, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	site, policy := r.URL.Host, ""
	for range 8 {
		reply, err := b.http.Do(r)
		if err != nil {
			return nil, err
		}
		page, err := io.ReadAll(reply.Body)
		if err = errors.Join(err, reply.Body.Close()); err != nil {
			return nil, err
		}
		if reply.StatusCode >= 300 && reply.StatusCode < 400 {
			next, err := reply.Location()
			if err != nil {
				return nil, fmt.Errorf("%s %s: %s: %w", r.Method, r.URL, reply.Status, err)
			}
			if next.Host != site {
				return next, maySendTo(policy, next)
			}
			if r, err = http.NewRequestWithContext(ctx, http.MethodGet, next.String(), nil); err != nil {
				return nil, err
			}
			continue
		}
		policy = reply.Header.Get("Content-Security-Policy")
		if r, err = b.fillIn(r, page); err != nil {
			return nil, fmt.Errorf("%s: %w", reply.Status, err)
		}
	}
	return nil, fmt.Errorf("%s redirects nowhere: %s", address, r.URL)
}

// maySendTo returns an error if a browser would block the redirect to u after a form
// was submitted, because policy, the Content-Security-Policy of the page with the form,
// forbids it.
func maySendTo(policy string, u *url.URL) error {
	for directive := range strings.SplitSeq(policy, ";") {
		sources := strings.Fields(directive)
		if len(sources) > 0 && sources[0] == "form-action" &&
			!slices.Contains(sources, u.Scheme+":") && !slices.Contains(sources, u.Scheme+"://"+u.Host) {
			return fmt.Errorf("the policy of the page does not allow the form to redirect to %s: %q", u, directive)
		}
	}
	return nil
}

// fillIn returns the request that submits the first form of a page.
func (b *browser) fillIn(from *http.Request, page []byte) (*http.Request, error) {
	root, err := html.Parse(strings.NewReader(string(page)))
	if err != nil {
		return nil, err
	}
	form := firstElement(root, func(n *html.Node) bool { return n.Data == "form" })
	if form == nil {
		return nil, fmt.Errorf("%s has no form: %s", from.URL, pageText(root))
	}
	values := url.Values{}
	pressed := false
	for n := range form.Descendants() {
		name, value, kind := attribute(n, "name"), attribute(n, "value"), attribute(n, "type")
		button := n.Data == "button" || n.Data == "input" && kind == "submit"
		switch answer, known := b.answers[name]; {
		case n.Type != html.ElementNode || button && pressed:
			continue
		case button:
			pressed = true
		case n.Data != "input" || kind == "checkbox" || kind == "radio":
			continue
		case known:
			value = answer
		}
		if name != "" {
			values.Add(name, value)
		}
	}
	to, err := from.URL.Parse(attribute(form, "action"))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(from.Context(), http.MethodPost, to.String(), strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", from.URL.Scheme+"://"+from.URL.Host)
	return r, nil
}

// firstElement returns the first element below root for which is returns true, or nil.
func firstElement(root *html.Node, is func(*html.Node) bool) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && is(n) {
			return n
		}
	}
	return nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// pageText returns the visible text of a page.
func pageText(root *html.Node) string {
	var all []string
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "style" {
			all = append(all, strings.Fields(n.Data)...)
		}
	}
	return strings.Join(all, " ")
}
