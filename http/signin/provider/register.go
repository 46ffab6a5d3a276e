package provider

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"time"

	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
	"annals/http/signin/provider/throttle"
)

// registrationLimits limits the registrations from each address. The number of all
// registrations together is not limited, because one attacker could use up that limit; see
// accounts/eviction.go.
var registrationLimits = throttle.Limits{Free: 30, First: time.Minute, Longest: time.Minute, Quiet: time.Hour}

// maxRegistration is the maximum size of a registration request in bytes.
const maxRegistration = 32 << 10

// registered is the response to a registration (RFC 7591 §3.2.1).
type registered struct {
	clients.Client
	IssuedAt int64 `json:"client_id_issued_at"`
}

// register registers a client (RFC 7591).
func (p *Provider) register(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	if wait := p.registrations.Take(p.Address(r)); wait > 0 {
		return 0, nil, oauth.TooMany(wait)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return 0, nil, oauth.Errorf("invalid_client_metadata", "the body must be of type application/json")
	}
	c := clients.Client{ID: rand.Text()}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRegistration)).Decode(&c.Metadata); err != nil {
		return 0, nil, oauth.Errorf("invalid_client_metadata", "the body must be a JSON object of up to %d bytes with the fields of RFC 7591", maxRegistration)
	}
	if err := c.Complete(); err != nil {
		return 0, nil, err
	}
	metadata, err := json.Marshal(c.Metadata)
	if err != nil {
		return 0, nil, fmt.Errorf("encode the metadata of a client: %w", err)
	}
	now := p.now()
	added, err := p.accounts.AddClient(r.Context(), c.ID, metadata, p.Address(r), now)
	if err != nil {
		return 0, nil, err
	}
	if !added {
		return 0, nil, oauth.TooMany(time.Hour)
	}
	return http.StatusCreated, registered{c, now.Unix()}, nil
}
