package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"annals/events/fault"

	"github.com/google/uuid"
)

// rejected is an error of kind fault.Invalid that lists what is wrong with a
// vault request, in the words of class-validator.
type rejected []string

func (e rejected) Error() string { return strings.Join(e, "; ") }

// moment is a time as the vault writes it: ISO 8601, UTC, milliseconds.
type moment time.Time

// MarshalJSON writes the time as a string.
func (m moment) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(m).UTC().Format("2006-01-02T15:04:05.000Z"))
}

// errNoID is the answer to an id in a path that is none: nothing has it.
var errNoID = fault.Errorf(fault.NotFound, "there is nothing with an id of this form")

// errNoVersion is the answer to a version in a path that is none.
var errNoVersion = fault.Errorf(fault.NotFound, "there is no version of this form")

// pathID returns the id in a call's path.
func (c *call) pathID() (uuid.UUID, error) {
	id, ok := parseID(c.path("id"))
	if !ok {
		return id, errNoID
	}
	return id, nil
}

// parseID reads a UUID in its usual form alone.
func parseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == 36
}

// filter reads the query of a vault request; faults gather in wrong.
type filter struct {
	values url.Values
	wrong  rejected
}

func newFilter(r *http.Request) *filter { return &filter{values: r.URL.Query()} }

// one returns a parameter that may be given once; given is false where it is
// not there. The fault of a repeated one is that of its type.
func (f *filter) one(name, fault string) (text string, given bool) {
	all := f.values[name]
	if len(all) > 1 {
		f.wrong = append(f.wrong, fault)
		return "", false
	}
	return strings.Join(all, ""), len(all) == 1
}

// id returns an optional id.
func (f *filter) id(name string) *uuid.UUID {
	fault := name + " must be a UUID"
	text, given := f.one(name, fault)
	if !given {
		return nil
	}
	id, ok := parseID(text)
	if !ok {
		f.wrong = append(f.wrong, fault)
	}
	return &id
}

// isTrue returns whether a parameter is there; its only value is "true".
func (f *filter) isTrue(name string) bool {
	fault := name + " must be one of the following values: true"
	text, given := f.one(name, fault)
	if given && text != "true" {
		f.wrong = append(f.wrong, fault)
	}
	return given
}

// text returns an optional text, which is not empty where it is given.
func (f *filter) text(name string) string {
	text, given := f.one(name, name+" must be a string")
	if given && text == "" {
		f.wrong = append(f.wrong, name+" should not be empty")
	}
	return text
}

// boolean returns an optional "true" or "false".
func (f *filter) boolean(name string) bool {
	fault := name + " must be a boolean string"
	text, given := f.one(name, fault)
	if given && text != "true" && text != "false" {
		f.wrong = append(f.wrong, fault)
	}
	return text == "true"
}

// limit returns the size of a page, 0 for all.
func (f *filter) limit(most int) int {
	n, _ := f.integer("limit", most)
	return n
}

// integer returns an optional number from 1 to most; given is false where it
// is not there. One that is faulty is 0.
func (f *filter) integer(name string, most int) (n int, given bool) {
	fault := name + " must be an integer number"
	text, given := f.one(name, fault)
	if !given {
		return 0, len(f.values[name]) > 0
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		f.wrong = append(f.wrong, fault)
	case n < 1:
		f.wrong = append(f.wrong, name+" must not be less than 1")
	case n > most:
		f.wrong = append(f.wrong, fmt.Sprintf("%s must not be greater than %d", name, most))
	default:
		return n, true
	}
	return 0, true
}

// err returns what is wrong, nil where nothing is.
func (f *filter) err() error {
	if len(f.wrong) == 0 {
		return nil
	}
	return f.wrong
}

// listing answers with an array, and with a link to the next page where there
// is one.
func (s *Server) listing(c *call, list any, next string) any {
	if next == "" {
		return list
	}
	q := c.URL.Query()
	q.Set("cursor", next)
	// The path that was called, under the host that clients know.
	u := url.URL{Scheme: s.VaultURL.Scheme, Host: s.VaultURL.Host, Path: c.URL.Path, RawQuery: q.Encode()}
	return reply(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Link", "<"+u.String()+`>; rel="next"`)
		return vaultDialect.tagged(http.StatusOK, weakTag, list)(w, r)
	})
}
