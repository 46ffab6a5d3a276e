// Package endpoint connects clients to endpoints with the API of OpenAI, such as those of
// language models and of embeddings. It imports no other package of this module.
package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// CheckURL returns an error unless text is the URL of an endpoint, such as https://host/v1. The
// key of the endpoint must not be a part of it.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the value is not a URL: write it as https://host/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the URL must have neither a user, nor a query, nor a fragment")
	}
	return nil
}

// NewClient returns a client of the endpoint with a URL, which must have passed CheckURL. The key
// is sent as a bearer token, unless it is empty, and never to another host, since redirects
// are not followed. Zero is sent as 0. A reply is cut at a number of bytes, with ErrTooLong. A reply
// with another status than 200 is a *StatusError.
func NewClient(url, key string, maxReply int64) *openai.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.MaxIdleConnsPerHost = 8
	config := openai.DefaultConfig(key)
	config.BaseURL = strings.TrimRight(url, "/")
	config.HTTPClient = &http.Client{
		Transport:     limited{transport, key, maxReply},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return openai.NewClientWithConfig(config)
}

// ErrTooLong is the error of a reply that is cut.
var ErrTooLong = errors.New("the reply is too long")

// StatusError is the error of a reply with another status than 200.
type StatusError struct {
	Code int
	body string // its beginning, without the key
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %.300q", e.Code, e.body) }

// StatusOf returns the status of a StatusError, or 0 for other errors.
func StatusOf(err error) int {
	if e := (*StatusError)(nil); errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Zero is a number that a client sends as 0, because the libraries leave a 0 out of a request.
const Zero float32 = math.SmallestNonzeroFloat32

// tiny matches a member of a request with the value Zero. Within the strings of a request, it cannot match, because a quotation
// mark has a backslash before it there.
var tiny = regexp.MustCompile(`([{,]"[a-z_]+":)1e-45([,}])`)

// withZeros returns a request with 0 for each Zero.
func withZeros(r *http.Request) (*http.Request, error) {
	if r.Body == nil {
		return r, nil
	}
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	body = tiny.ReplaceAll(body, []byte("${1}0${2}"))
	r = r.Clone(r.Context())
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return r, err
}

type limited struct {
	http.RoundTripper
	key   string
	bytes int64
}

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	r, err := withZeros(r)
	if err != nil {
		return nil, err
	}
	resp, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		beginning, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
		body := string(beginning)
		if l.key != "" {
			body = strings.ReplaceAll(body, l.key, "(the key)")
		}
		return nil, &StatusError{resp.StatusCode, body}
	}
	resp.Body = &limitedBody{resp.Body, l.bytes}
	return resp, nil
}

type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
