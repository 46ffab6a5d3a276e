// Package client calls a running server for the commands import, share and login. It
// finds the URLs and the credential, uploads files, signs people in and out, and sends
// requests, with retries, to the two services of a server: the core (at /core) and the
// vault (at /vault). It may import the packages login and terminal, commands/naming,
// and events, but no package that opens a store.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"annals/events/fault"

	"github.com/cenkalti/backoff/v5"
)

// Client sends requests to one service of a server, the core or the vault, with a token
// and with retries. All fields are required.
type Client struct {
	URL        string // of the service, without a trailing slash
	HTTP       *http.Client
	Credential Credential
	Tries      uint          // maximum attempts for one request
	Pause      time.Duration // before the first retry; later pauses grow (backoff)
	Notify     func(string)  // called before each retry, with the reason
}

// NewHTTPClient returns a client without a timeout for the whole request, because an
// upload may take long. Each step of a request has a timeout.
func NewHTTPClient(connections int) *http.Client {
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

// Do sends a request. While the server is overloaded, starting or unreachable, it
// retries with backoff. The request must be safe to repeat. If the status of the reply
// is not 2xx, the error is a *Refusal.
func (c *Client) Do(ctx context.Context, request func() (*http.Request, error)) (*Reply, error) {
	return c.retry(ctx, true, request)
}

// Probe is like Do, but does not retry if the server is unreachable.
func (c *Client) Probe(ctx context.Context, request func() (*http.Request, error)) (*Reply, error) {
	return c.retry(ctx, false, request)
}

// Call sends a request like Do and decodes the JSON reply into the argument into. If
// body is not nil, it is sent as JSON. If version is not "", it is sent as If-Match. If
// into is nil, the reply is not decoded.
func (c *Client) Call(ctx context.Context, method, path, version string, body, into any) (*Reply, error) {
	reply, err := c.Do(ctx, c.Request(ctx, method, path, version, body))
	if err != nil || into == nil {
		return reply, err
	}
	return reply, reply.Decode(into)
}

// Get sends a GET request like Do and decodes the JSON reply.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	_, err := c.Call(ctx, http.MethodGet, path, "", nil, into)
	return err
}

// Request returns a function that builds the request described at Call.
func (c *Client) Request(ctx context.Context, method, path, version string, body any) func() (*http.Request, error) {
	return func() (*http.Request, error) {
		var text []byte
		if body != nil {
			var err error
			if text, err = json.Marshal(body); err != nil {
				return nil, err
			}
		}
		r, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if body != nil {
			r.Header.Set("Content-Type", "application/json")
		}
		if version != "" {
			r.Header.Set("If-Match", version)
		}
		return r, nil
	}
}

func (c *Client) retry(ctx context.Context, unreachable bool, request func() (*http.Request, error)) (*Reply, error) {
	intervals := backoff.NewExponentialBackOff()
	intervals.InitialInterval, intervals.MaxInterval = c.Pause, 30*time.Second
	return backoff.Retry(ctx, func() (*Reply, error) {
		reply, err := c.authorized(ctx, request)
		if isRetryable(ctx, err, unreachable) {
			return reply, err
		}
		return reply, backoff.Permanent(err)
	}, backoff.WithBackOff(intervals), backoff.WithMaxTries(c.Tries), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // leave out method and URL, which only distract users
		}
		c.Notify(fmt.Sprintf("waiting for the server: %v; retrying in %s", err, wait.Round(100*time.Millisecond)))
	}))
}

// isRetryable reports whether the same request may succeed later. unreachable says
// whether to retry if the server is unreachable.
func isRetryable(ctx context.Context, err error, unreachable bool) bool {
	var local *FileError
	var u *url.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &local):
		return false
	case fault.Is(err, fault.Unavailable):
		return true
	case IsRefusal(err, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout):
		return true
	}
	return unreachable && errors.As(err, &u)
}

// authorized sends a request with a token. If the server rejects the token, authorized
// gets another token and sends the request a second time.
func (c *Client) authorized(ctx context.Context, request func() (*http.Request, error)) (reply *Reply, err error) {
	var token string
	var r *http.Request
	for range 2 {
		if token, err = c.Credential.Token(ctx, token); err != nil {
			return nil, err
		}
		if r, err = request(); err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if reply, err = c.once(r); !IsRefusal(err, http.StatusUnauthorized) {
			return reply, err
		}
	}
	return nil, fmt.Errorf("the server %s does not accept %s: %w; %s", c.URL, c.Credential.Name, err, c.Credential.Help)
}

func (c *Client) once(r *http.Request) (*Reply, error) {
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	const maxReply = 64 << 20
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return nil, &url.Error{Op: "read the reply from", URL: r.URL.String(), Err: err}
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return &Reply{url: r.URL, Header: response.Header, body: body}, nil
	}
	return nil, newRefusal(response, body)
}
