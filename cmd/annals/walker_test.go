package main

import (
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// walker signs in on the pages of the built-in sign-in as a person does, without a
// browser.
type walker struct {
	client         *http.Client
	name, password string
	decision       string // "allow" or "deny", for the consent page
}

func newWalker(name, password, decision string) (*walker, error) {
	jar, err := cookiejar.New(nil)
	return &walker{&http.Client{Jar: jar}, name, password, decision}, err
}

// walkAsProgram stands in for the program that opens URLs in a browser, such as
// xdg-open.
func walkAsProgram() {
	w, err := newWalker(os.Getenv("WALKER_NAME"), os.Getenv("WALKER_PASSWORD"), os.Getenv("WALKER_DECISION"))
	if err == nil {
		_, err = w.walk(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var (
	formTag  = regexp.MustCompile(`<form method="post" action="([^"]*)">`)
	fieldTag = regexp.MustCompile(`<input [^>]*name="([^"]*)"(?: value="([^"]*)")?`)
)

// walk opens an address, fills in and submits forms until a page has none, and returns
// that page.
func (w *walker) walk(address string) (page string, err error) {
	reply, err := w.client.Get(address)
	for range 6 {
		if err != nil {
			return page, err
		}
		text, err := io.ReadAll(reply.Body)
		if page = string(text); err != nil || reply.Body.Close() != nil {
			return page, err
		}
		form := formTag.FindStringSubmatch(page)
		if form == nil {
			return page, nil
		}
		target, err := reply.Request.URL.Parse(html.UnescapeString(form[1]))
		if err != nil {
			return page, err
		}
		if reply, err = w.submit(target, page); err != nil {
			return page, err
		}
	}
	return page, fmt.Errorf("%s has too many forms; the last page is\n%s", address, page)
}

// submit returns the request that submits the first form of a page.
func (w *walker) submit(target *url.URL, page string) (*http.Response, error) {
	part, _, _ := strings.Cut(page[strings.Index(page, "<form"):], "</form>")
	fields := url.Values{}
	for _, field := range fieldTag.FindAllStringSubmatch(part, -1) {
		fields.Set(field[1], html.UnescapeString(field[2]))
	}
	if strings.Contains(part, `name="decision"`) {
		fields.Set("decision", w.decision)
	}
	if fields.Has("password") {
		maps.Copy(fields, url.Values{"username": {w.name}, "password": {w.password}})
	}
	r, err := http.NewRequest(http.MethodPost, target.String(), strings.NewReader(fields.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", target.Scheme+"://"+target.Host)
	return w.client.Do(r)
}
