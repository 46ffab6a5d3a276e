package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"annals/events/fault"
)

// restClient makes requests of one of the services, signs them, and tries
// again while the server or the network fails.
type restClient struct {
	url   string // of the service, without a slash at the end
	http  *http.Client
	as    credential
	tries uint
	pause time.Duration // before the second try; rising from there
	tell  func(string)  // what is waited for, for the user
}

// tokenSource returns a token: if it can, another than the one that was refused,
// which is "" at first.
type tokenSource func(ctx context.Context, refused string) (string, error)

// newHTTPClient has no limit on a whole request, since an upload may take
// long; its parts have.
func newHTTPClient(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   connections,
		ForceAttemptHTTP2:     true,
	}}
}

// call makes a request, signs it, and tries again while the server or the
// network fails. Every request of this client may safely be made twice.
func (c *restClient) call(ctx context.Context, patient bool, request func() (*http.Request, error)) (*answer, error) {
	intervals := backoff.NewExponentialBackOff()
	intervals.InitialInterval, intervals.MaxInterval = c.pause, 30*time.Second
	return backoff.Retry(ctx, func() (*answer, error) {
		a, err := c.signed(ctx, request)
		if isRetryable(ctx, err, patient) {
			return a, err
		}
		return a, backoff.Permanent(err)
	}, backoff.WithBackOff(intervals), backoff.WithMaxTries(c.tries), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // which request it was tells the user nothing
		}
		c.tell(fmt.Sprintf("waiting for the server: %v; trying again in %s", err, wait.Round(100*time.Millisecond)))
	}))
}

// patiently is how requests are made once it is known that the server is
// there.
const patiently = true

// isRetryable reports whether a second try may mend err.
func isRetryable(ctx context.Context, err error, patient bool) bool {
	var f *fileError
	var u *url.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &f):
		return false
	case fault.Is(err, fault.Unavailable):
		return true
	case isRefusal(err, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout):
		return true
	}
	return patient && errors.As(err, &u)
}

// signed makes a request with a token, and once more with a new one if that
// was refused.
func (c *restClient) signed(ctx context.Context, request func() (*http.Request, error)) (a *answer, err error) {
	var token string
	var r *http.Request
	for range 2 {
		if token, err = c.as.token(ctx, token); err != nil {
			return nil, err
		}
		if r, err = request(); err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if a, err = c.do(r); !isRefusal(err, http.StatusUnauthorized) {
			return a, err
		}
	}
	return nil, fmt.Errorf("the server %s does not accept %s: %w; %s", c.url, c.as.name, err, c.as.help)
}

func (c *restClient) do(r *http.Request) (*answer, error) {
	reply, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	const most = 64 << 20
	body, err := io.ReadAll(io.LimitReader(reply.Body, most))
	if err != nil {
		return nil, &url.Error{Op: "read the reply of", URL: r.URL.String(), Err: err}
	}
	switch reply.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
	default:
		return nil, newRefusal(reply, body)
	}
	return &answer{url: r.URL, header: reply.Header, body: body}, nil
}

// answer is a reply that tells of success.
type answer struct {
	url    *url.URL
	header http.Header
	body   []byte
}

func (a *answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("read the reply of %s: %w", a.url, err)
	}
	return nil
}

// refusal is a reply other than success.
type refusal struct {
	status int
	detail string
	after  time.Duration // when to try again, where the server said so
}

func (e *refusal) Error() string {
	if e.detail == "" {
		return fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
	}
	return fmt.Sprintf("the server answers %d: %s", e.status, e.detail)
}

// Unwrap tells the loop of tries how long the server wants it to wait.
func (e *refusal) Unwrap() error {
	if e.after <= 0 {
		return nil
	}
	return &backoff.RetryAfterError{Duration: e.after}
}

// isRefusal reports whether err is a reply with one of the given statuses.
func isRefusal(err error, statuses ...int) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	return slices.Contains(statuses, r.status)
}

// newRefusal reads what a service says of a refusal: detail in the core's
// dialect, message in the vault's.
func newRefusal(reply *http.Response, body []byte) *refusal {
	e := &refusal{status: reply.StatusCode}
	if s, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = min(time.Duration(s)*time.Second, time.Minute)
	}
	var said struct{ Detail, Message told }
	if json.Unmarshal(body, &said) == nil {
		e.detail = strings.Join(append(said.Detail, said.Message...), "; ")
	}
	return e
}

// told is one sentence or a list of them, each alone or as msg of an object.
type told []string

func (t *told) UnmarshalJSON(text []byte) error {
	var (
		one    string
		many   []string
		faults []struct{ Msg string }
	)
	switch {
	case json.Unmarshal(text, &one) == nil:
		*t = told{one}
	case json.Unmarshal(text, &many) == nil:
		*t = many
	case json.Unmarshal(text, &faults) == nil:
		for _, f := range faults {
			*t = append(*t, f.Msg)
		}
	}
	return nil
}
