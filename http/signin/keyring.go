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

	"annals/events/fault"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
)

const (
	// keysFresh is how long keys are used before they are fetched again. If the issuer
	// withdraws a key, it may be accepted until then.
	keysFresh = recheckAfter
	// keysUsable is how long keys are used if the issuer is unreachable. It is about the
	// lifetime of the tokens that they signed.
	keysUsable = time.Hour
	// fetchPause is the minimum time between two fetches. Without it, tokens with invented key
	// ids would flood the issuer with requests.
	fetchPause = 5 * time.Second
	// fetchTimeout is the timeout of one request to an issuer.
	fetchTimeout = 10 * time.Second
	// maxResponse is the maximum size of an issuer's response in bytes.
	maxResponse = 1 << 20
	// maxKeys is the maximum number of keys of an issuer.
	maxKeys = 100
	// maxRSABytes is the maximum length of the modulus of an RSA key. It limits the cost of
	// verifying a signature.
	maxRSABytes = 1024
)

// keyring caches the public keys of an external issuer. The first call fetches them. Only one
// caller fetches at a time; other callers wait only if there are no usable keys.
type keyring struct {
	issuer string
	client *http.Client
	now    func() time.Time

	set      atomic.Pointer[keys]
	fetching chan struct{} // semaphore for the caller that fetches
	// time and error of the last fetch, guarded by fetching
	fetched time.Time
	err     error
}

// keys are the keys that one fetch returned. They never change.
type keys struct {
	list    []jose.JSONWebKey
	fetched time.Time
}

func newKeyring(issuer string, client *http.Client, now func() time.Time) *keyring {
	return &keyring{issuer: issuer, client: client, now: now, fetching: make(chan struct{}, 1)}
}

// candidates returns the keys that have the key id and the algorithm in the header of a
// signature.
func (k *keys) candidates(header jose.Header) []jose.JSONWebKey {
	var matching []jose.JSONWebKey
	for _, key := range k.list {
		if (header.KeyID == "" || key.KeyID == header.KeyID) && (key.Algorithm == "" || key.Algorithm == header.Algorithm) {
			matching = append(matching, key)
		}
	}
	return matching
}

func (r *keyring) age(k *keys) time.Duration { return r.now().Sub(k.fetched) }

// current returns usable keys. If the keys are older than keysFresh, one caller fetches new
// keys while other callers use the old ones.
func (r *keyring) current(ctx context.Context) (*keys, error) {
	set := r.set.Load()
	switch {
	case set != nil && r.age(set) < keysFresh:
		return set, nil
	case set != nil && r.age(set) < keysUsable:
		select {
		case r.fetching <- struct{}{}:
		default:
			return set, nil
		}
		defer func() { <-r.fetching }()
		if newer, err := r.fetch(ctx, set); err == nil {
			return newer, nil
		}
		return set, nil
	}
	return r.refetch(ctx, set)
}

// refetch returns keys that are newer than old. If the last fetch was less than fetchPause
// ago, it returns old.
func (r *keyring) refetch(ctx context.Context, old *keys) (*keys, error) {
	select {
	case r.fetching <- struct{}{}:
		defer func() { <-r.fetching }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the keys of issuer %s: %w", r.issuer, ctx.Err())
	}
	return r.fetch(ctx, old)
}

// fetch fetches the keys and returns them, unless another caller has replaced old in the
// meantime, or the last fetch was less than fetchPause ago. The caller must hold the semaphore
// fetching.
func (r *keyring) fetch(ctx context.Context, old *keys) (*keys, error) {
	set := r.set.Load()
	if set != old && r.age(set) < keysFresh {
		return set, nil
	}
	if since := r.now().Sub(r.fetched); !r.fetched.IsZero() && since >= 0 && since < fetchPause {
		return set, r.err
	}
	// If ctx is canceled, the fetch continues, so that the next caller can use its result.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*fetchTimeout)
	defer cancel()
	list, err := r.discover(ctx)
	r.fetched, r.err = r.now(), nil
	if err != nil {
		r.err = fault.Hide(fault.Unavailable, "the keys of the sign-in service cannot be fetched at the moment; try again later",
			fmt.Errorf("fetch the keys of issuer %s: %.200s", r.issuer, err.Error()))
		return nil, r.err
	}
	set = &keys{list: list, fetched: r.now()}
	r.set.Store(set)
	return set, nil
}

// discover fetches the metadata of the issuer, and then the key set from the jwks_uri in the
// metadata.
func (r *keyring) discover(ctx context.Context) ([]jose.JSONWebKey, error) {
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
		return nil, fmt.Errorf("jwks_uri %q must be https, as the issuer is", metadata.JWKS)
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
		return nil, fmt.Errorf("fetch %s: the issuer replied %s", metadata.JWKS, response.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		return nil, fmt.Errorf("decode %s: %w", metadata.JWKS, err)
	}
	return publicKeys(set.Keys), nil
}

// publicKeys decodes the entries of a key set that can verify signatures. It skips all other
// entries, as RFC 7517 §5 requires.
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

// NewHTTPClient returns a copy of c with limits on the time and size of responses. It does not
// follow redirects from https to http.
func NewHTTPClient(c *http.Client) *http.Client {
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
			return fmt.Errorf("redirect from https to %s is not allowed", r.URL.Redacted())
		}
		return nil
	}
	return &bounded
}

type boundedTransport struct{ http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	}
	return response, err
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (t boundedTransport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
