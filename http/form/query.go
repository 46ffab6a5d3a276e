package form

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"annals/events"
	"annals/http/problem"

	"github.com/google/uuid"
)

// ParseID parses a UUID in its canonical form of 36 characters.
func ParseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == 36
}

// Query is the query of a vault request. Its methods each read one parameter, and add errors
// to Wrong in the words of class-validator, the validation library of NestJS.
type Query struct {
	Wrong  problem.Rejected
	values url.Values
}

// NewQuery returns the query of a request.
func NewQuery(r *http.Request) *Query { return &Query{values: r.URL.Query()} }

// Refuse adds an error to Wrong.
func (f *Query) Refuse(format string, args ...any) {
	f.Wrong = append(f.Wrong, fmt.Sprintf(format, args...))
}

// One returns the value of a parameter. given is false if it is missing. If the parameter is
// repeated, One adds fault to Wrong.
func (f *Query) One(name, fault string) (text string, given bool) {
	all := f.values[name]
	if len(all) > 1 {
		f.Wrong = append(f.Wrong, fault)
		return "", false
	}
	return strings.Join(all, ""), len(all) == 1
}

// ID returns an optional id, or nil if it is missing.
func (f *Query) ID(name string) *uuid.UUID {
	fault := name + " must be a UUID"
	text, given := f.One(name, fault)
	if !given {
		return nil
	}
	id, ok := ParseID(text)
	if !ok {
		f.Wrong = append(f.Wrong, fault)
	}
	return &id
}

// IsTrue reports whether a parameter is present. Any value except "true" is an error.
func (f *Query) IsTrue(name string) bool {
	fault := name + " must be one of the following values: true"
	text, given := f.One(name, fault)
	if given && text != "true" {
		f.Wrong = append(f.Wrong, fault)
	}
	return given
}

// Text returns an optional text, or "" if it is missing. An empty value is an error.
func (f *Query) Text(name string) string {
	text, given := f.One(name, name+" must be a string")
	if given && text == "" {
		f.Wrong = append(f.Wrong, name+" should not be empty")
	}
	return text
}

// Boolean returns an optional boolean, false if it is missing.
func (f *Query) Boolean(name string) bool {
	fault := name + " must be a boolean string"
	text, given := f.One(name, fault)
	if given && text != "true" && text != "false" {
		f.Wrong = append(f.Wrong, fault)
	}
	return text == "true"
}

// Limit returns the page size in the parameter limit, or 0 if it is missing. It must be from 1
// to high.
func (f *Query) Limit(high int) int {
	n, _ := f.Integer("limit", high)
	return n
}

// Integer returns an optional number from 1 to high. given is false if it is missing. For an
// invalid number n is 0.
func (f *Query) Integer(name string, high int) (n int, given bool) {
	fault := name + " must be an integer number"
	text, given := f.One(name, fault)
	if !given {
		return 0, len(f.values[name]) > 0
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		f.Wrong = append(f.Wrong, fault)
	case n < 1:
		f.Wrong = append(f.Wrong, name+" must not be less than 1")
	case n > high:
		f.Wrong = append(f.Wrong, fmt.Sprintf("%s must not be greater than %d", name, high))
	default:
		return n, true
	}
	return 0, true
}

// Err returns one error with all errors in Wrong, or nil.
func (f *Query) Err() error {
	if len(f.Wrong) == 0 {
		return nil
	}
	return f.Wrong
}

// User returns an optional principal, or "" if it is missing. A group is an error.
func (f *Query) User(name string) events.Principal {
	p := events.Principal(f.Text(name))
	if p != "" && !p.IsUser() {
		f.Wrong = append(f.Wrong, name+" must be the principal of a user, such as user:alice")
	}
	return p
}

// Time returns an optional time. A date stands for the beginning of the day. A time without a
// time zone is in UTC. If the parameter is missing, the result is the zero time.
func (f *Query) Time(name string) time.Time {
	fault := name + " must be a valid ISO 8601 date string"
	text, given := f.One(name, fault)
	if !given {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	f.Wrong = append(f.Wrong, fault)
	return time.Time{}
}

// QueryBool returns a boolean from a core request's query, false if it is missing. It
// accepts the values that pydantic accepts.
func QueryBool(r *http.Request, name string, found *problem.Fields) bool {
	given := r.URL.Query()[name]
	if len(given) == 0 {
		return false
	}
	last := given[len(given)-1]
	switch strings.ToLower(last) {
	case "1", "true", "t", "yes", "y", "on":
		return true
	case "0", "false", "f", "no", "n", "off":
		return false
	}
	found.Add("bool_parsing", "Input should be a valid boolean, unable to interpret input", last, nil, "query", name)
	return false
}

// QueryID returns an id from a core request's query, uuid.Nil if it is missing.
func QueryID(r *http.Request, name string, found *problem.Fields) uuid.UUID {
	given := r.URL.Query()[name]
	if len(given) == 0 {
		return uuid.Nil
	}
	last := given[len(given)-1]
	id, ok := ParseID(last)
	if !ok {
		found.Add("uuid_parsing", "Input should be a valid UUID", last, nil, "query", name)
	}
	return id
}

// QueryInt returns an integer from 1 to high from a core request's query, or def if it is missing.
func QueryInt(r *http.Request, name string, def, high int, found *problem.Fields) int {
	given := r.URL.Query()[name]
	if len(given) == 0 {
		return def
	}
	last := given[len(given)-1]
	n, err := strconv.Atoi(last)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		found.Add("int_parsing", "Input should be a valid integer, unable to parse string as an integer", last, nil, "query", name)
	case n < 1:
		found.Add("greater_than_equal", "Input should be greater than or equal to 1", last, map[string]any{"ge": 1}, "query", name)
	case n > high:
		found.Add("less_than_equal", "Input should be less than or equal to "+strconv.Itoa(high), last, map[string]any{"le": high}, "query", name)
	}
	return n
}

// QueryText returns a required string from a core request's query.
func QueryText(r *http.Request, name string, found *problem.Fields) string {
	given := r.URL.Query()[name]
	if len(given) == 0 {
		found.Add("missing", "Field required", nil, nil, "query", name)
		return ""
	}
	return given[len(given)-1]
}
