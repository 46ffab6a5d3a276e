package signin

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"

	"annals/events/fault"
)

const (
	// keysFresh is how long fetched keys are used without asking again; so
	// long a key that its issuer withdrew may still be believed.
	keysFresh = recheck
	// keysUsable is how long they are used while the issuer cannot be
	// reached: about as long as the tokens that they signed.
	keysUsable = time.Hour
	// fetchPause is the least time between two fetches, whoever asks: tokens
	// with made-up key ids must not become a flood at the issuer.
	fetchPause = 5 * time.Second
	// fetchTimeout bounds one request to an issuer.
	fetchTimeout = 10 * time.Second
	// maxAnswer bounds what is read of an issuer's answer, in bytes.
	maxAnswer = 1 << 20
	// maxKeys bounds how many keys of an issuer are kept.
	maxKeys = 100
	// maxRSABytes bounds the modulus, and so the work of checking a signature.
	maxRSABytes = 1024
)

// keyring holds the public keys of one external issuer. They are found by
// discovery when first needed, and fetched by one caller at a time while the
// others wait for what it brings.
type keyring struct {
	issuer string
	client *http.Client
	now    func() time.Time

	set  atomic.Pointer[keys]
	turn chan struct{} // holds one token: whose turn it is to fetch
	// Of the last fetch; guarded by turn.
	tried time.Time
	err   error
}

// keys is what one fetch brought. It does not change.
type keys struct {
	list    []jose.JSONWebKey
	fetched time.Time
}

func newKeyring(issuer string, client *http.Client, now func() time.Time) *keyring {
	return &keyring{issuer: issuer, client: client, now: now, turn: make(chan struct{}, 1)}
}

// candidates returns the keys that may have made a signature with that header.
func (k *keys) candidates(header jose.Header) []jose.JSONWebKey {
	var fit []jose.JSONWebKey
	for _, key := range k.list {
		if (header.KeyID == "" || key.KeyID == header.KeyID) && (key.Algorithm == "" || key.Algorithm == header.Algorithm) {
			fit = append(fit, key)
		}
	}
	return fit
}

func (r *keyring) age(k *keys) time.Duration { return r.now().Sub(k.fetched) }

// current returns keys that can be used now. Old ones are renewed by the first
// who asks, while others go on with them.
func (r *keyring) current(ctx context.Context) (*keys, error) {
	set := r.set.Load()
	switch {
	case set != nil && r.age(set) < keysFresh:
		return set, nil
	case set != nil && r.age(set) < keysUsable:
		select {
		case r.turn <- struct{}{}:
		default:
			return set, nil
		}
		defer func() { <-r.turn }()
		if newer, err := r.fetch(ctx, set); err == nil {
			return newer, nil
		}
		return set, nil
	}
	return r.newer(ctx, set)
}

// newer returns keys fetched after old, or old itself if the issuer was asked
// just now.
func (r *keyring) newer(ctx context.Context, old *keys) (*keys, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the keys of issuer %s: %w", r.issuer, ctx.Err())
	}
	return r.fetch(ctx, old)
}

// fetch asks the issuer, unless that was done since old or a moment ago. The
// caller has the turn.
func (r *keyring) fetch(ctx context.Context, old *keys) (*keys, error) {
	set := r.set.Load()
	if set != old && r.age(set) < keysFresh {
		return set, nil
	}
	if since := r.now().Sub(r.tried); !r.tried.IsZero() && since >= 0 && since < fetchPause {
		return set, r.err
	}
	// A caller that hangs up must not make the next one start over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*fetchTimeout)
	defer cancel()
	list, err := r.ask(ctx)
	r.tried, r.err = r.now(), nil
	if err != nil {
		r.err = fault.Hide(fault.Unavailable, "the keys of the sign-in service cannot be had at the moment",
			fmt.Errorf("the keys of issuer %s: %.200s", r.issuer, err.Error()))
		return nil, r.err
	}
	set = &keys{list: list, fetched: r.now()}
	r.set.Store(set)
	return set, nil
}

// ask runs discovery and reads the key set that it names.
func (r *keyring) ask(ctx context.Context) ([]jose.JSONWebKey, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, r.client), r.issuer)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		JWKS string `json:"jwks_uri"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.issuer, "https:") && !strings.HasPrefix(metadata.JWKS, "https:") {
		return nil, fmt.Errorf("its jwks_uri %q is not https", metadata.JWKS)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metadata.JWKS, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", metadata.JWKS, response.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		return nil, fmt.Errorf("decode %s: %w", metadata.JWKS, err)
	}
	return publicKeys(set.Keys), nil
}

// publicKeys decodes those entries of a key set that can check signatures, and
// passes over the others, as RFC 7517 §5 asks.
func publicKeys(entries []json.RawMessage) []jose.JSONWebKey {
	var list []jose.JSONWebKey
	for _, entry := range entries {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(entry) != nil || !key.IsPublic() || !key.Valid() || (key.Use != "" && key.Use != "sig") {
			continue
		}
		if k, ok := key.Key.(*rsa.PublicKey); ok && k.Size() > maxRSABytes {
			continue
		}
		if list = append(list, key); len(list) == maxKeys {
			break
		}
	}
	return list
}

// boundedClient returns a client like c, whose calls end in time, whose
// answers end, and which does not follow a redirect out of https.
func boundedClient(c *http.Client) *http.Client {
	bounded := http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	if c != nil {
		bounded = *c
		if c.Transport == nil {
			bounded.Transport = http.DefaultTransport
		}
	}
	if bounded.Timeout == 0 || bounded.Timeout > fetchTimeout {
		bounded.Timeout = fetchTimeout
	}
	bounded.Transport = boundedTransport{bounded.Transport}
	bounded.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		if via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return fmt.Errorf("it redirects out of https, to %s", r.URL.Redacted())
		}
		return nil
	}
	return &bounded
}

type boundedTransport struct{ http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	}
	return response, err
}

// CloseIdleConnections lets the client of the same method name reach through.
func (t boundedTransport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
