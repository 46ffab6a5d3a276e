package oauth

import (
	"net/http"
	"net/url"
)

// MaxForm is the maximum size of a form in bytes.
const MaxForm = 64 << 10

// Params are the parameters of an OAuth request. A parameter with an empty value is treated
// like a missing one (RFC 6749 §3.1).
type Params struct{ url.Values }

// Check returns an error if a parameter is repeated. Only resource may be repeated (RFC 8707).
func (p Params) Check() error {
	for name, values := range p.Values {
		if len(values) > 1 && name != "resource" {
			return Errorf("invalid_request", "only the parameter resource may be given more than once")
		}
	}
	return nil
}

// List returns the values of a parameter that may be repeated, without empty ones.
func (p Params) List(name string) []string {
	var all []string
	for _, v := range p.Values[name] {
		if v != "" {
			all = append(all, v)
		}
	}
	return all
}

// ReadParams parses the form in the body of a request.
func ReadParams(w http.ResponseWriter, r *http.Request) (Params, error) {
	r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
	if err := r.ParseForm(); err != nil || r.PostForm == nil {
		return Params{}, Errorf("invalid_request", "the body must be a form of up to %d bytes", MaxForm)
	}
	p := Params{r.PostForm}
	return p, p.Check()
}
