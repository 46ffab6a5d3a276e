package signin

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// refusal is an error in the words of RFC 6749 §5.2 and of its extensions. Its
// description is plain ASCII without quotes, as §5.2 asks.
type refusal struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`

	status int
	wait   time.Duration // until it is worth another try
}

func (r *refusal) Error() string { return r.Code + ": " + r.Description }

// refused returns a refusal with the status that belongs to the code.
func refused(code, format string, args ...any) *refusal {
	status := http.StatusBadRequest
	if code == "invalid_client" {
		status = http.StatusUnauthorized
	}
	return &refusal{Code: code, Description: fmt.Sprintf(format, args...), status: status}
}

// tooMany refuses what came too often. Neither RFC 6749 nor RFC 7591 has a code
// for that; this one says what is meant.
func tooMany(wait time.Duration) *refusal {
	return &refusal{
		Code: "temporarily_unavailable", Description: fmt.Sprintf("too many requests; try again in %d s", seconds(wait)),
		status: http.StatusTooManyRequests, wait: wait,
	}
}

// head sets the headers that belong to a refusal.
func (r *refusal) head(w http.ResponseWriter) {
	if r.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="annals"`)
	}
	switch {
	case r.wait > 0:
		w.Header().Set("Retry-After", strconv.Itoa(seconds(r.wait)))
	case r.status == http.StatusTooManyRequests: // as soon as the proof is there
		w.Header().Set("Retry-After", "1")
	}
}

// seconds rounds up, so that nobody comes back too early.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// maxForm bounds the body of a request, in bytes.
const maxForm = 64 << 10

// params are the parameters of a request. One without a value counts as left
// out (RFC 6749 §3.1).
type params struct{ url.Values }

// check refuses a parameter that was given more than once. RFC 8707 allows that
// for resource alone.
func (p params) check() error {
	for name, values := range p.Values {
		if len(values) > 1 && name != "resource" {
			return refused("invalid_request", "a parameter is given more than once")
		}
	}
	return nil
}

// list returns the values of a parameter that may be repeated.
func (p params) list(name string) []string {
	var all []string
	for _, v := range p.Values[name] {
		if v != "" {
			all = append(all, v)
		}
	}
	return all
}

// readParams reads the form that a program has sent.
func readParams(w http.ResponseWriter, r *http.Request) (params, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || r.PostForm == nil {
		return params{}, refused("invalid_request", "the body is no form of up to %d bytes", maxForm)
	}
	p := params{r.PostForm}
	return p, p.check()
}
