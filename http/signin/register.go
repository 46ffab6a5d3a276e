package signin

import (
	"crypto/rand"
	"encoding/json"
	"mime"
	"net/http"
	"time"
)

// Registrations are open to everyone, so each address has as many as its people
// could need. There is no bound on those of all together, which a stranger could use
// up: see origin.go.
var registrationLimits = limits{free: 30, first: time.Minute, longest: time.Minute, quiet: time.Hour}

// maxRegistration bounds what a program says of itself, in bytes.
const maxRegistration = 32 << 10

// registered is the answer to a registration (RFC 7591 §3.2.1).
type registered struct {
	client
	IssuedAt int64 `json:"client_id_issued_at"`
}

// register takes up a program that registers itself (RFC 7591).
func (p *Provider) register(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	if wait := p.registrations.take(p.address(r)); wait > 0 {
		return 0, nil, tooMany(wait)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return 0, nil, refused("invalid_client_metadata", "the body must be of type application/json")
	}
	c := client{ID: rand.Text()}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRegistration)).Decode(&c.clientMetadata); err != nil {
		return 0, nil, refused("invalid_client_metadata", "the body is no JSON object of up to %d bytes with fields of the usual types", maxRegistration)
	}
	if err := c.complete(); err != nil {
		return 0, nil, err
	}
	key, err := p.accounts.sealKey(r.Context())
	if err != nil {
		return 0, nil, err
	}
	now := p.now()
	added, err := p.accounts.addClient(r.Context(), c, originOf(key, p.address(r)), now)
	if err != nil {
		return 0, nil, err
	}
	if !added {
		return 0, nil, tooMany(time.Hour)
	}
	return http.StatusCreated, registered{c, now.Unix()}, nil
}
