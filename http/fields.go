package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"annals/events/nearest"

	"github.com/google/uuid"
)

// fields is the JSON object that is a vault request's body. What is wrong with
// it gathers in wrong, in the words of class-validator; fields that nobody
// asks for are unknown.
type fields struct {
	members
	path   string // of a nested object, with the dot behind it
	wrong  *rejected
	nested *[]fields // the objects in it
}

func newFields(values map[string]any, path string, wrong *rejected) fields {
	return fields{newMembers(values), path, wrong, new([]fields)}
}

// refuseUnknown refuses the fields that nobody asked for until now, here and in
// nested objects.
func (f fields) refuseUnknown() {
	for _, name := range f.unknown() {
		if len(*f.wrong) >= maxFaults {
			return
		}
		f.refuse("property %s%s should not exist: %s", f.path, nearest.Shortened(name), nearest.Hint(name, *f.known))
	}
	for _, n := range *f.nested {
		n.refuseUnknown()
	}
}

// readFields reads a call's body.
func (s *Server) readFields(c *call) (fields, error) {
	text, err := s.readBody(c.Request)
	if err != nil {
		return fields{}, err
	}
	return parseFields(text, c.Header.Get("Content-Type"))
}

func parseFields(text []byte, contentType string) (fields, error) {
	f := newFields(nil, "", new(rejected))
	text, ok := isText(text)
	if !ok || !isJSON(contentType) {
		return f, rejected{"body must be a JSON object"}
	}
	body, err := decodeJSON(bytes.TrimSpace(text))
	if f.values, ok = body.(map[string]any); err != nil || !ok {
		return f, rejected{"body must be a JSON object"}
	}
	return f, nil
}

// refuse notes what is wrong.
func (f fields) refuse(format string, args ...any) {
	*f.wrong = append(*f.wrong, fmt.Sprintf(format, args...))
}

// err returns all that is wrong, nil where nothing is. It is called once every
// field was asked for.
func (f fields) err() error {
	f.refuseUnknown()
	if len(*f.wrong) == 0 {
		return nil
	}
	return *f.wrong
}

// text returns a required text that is not empty.
func (f fields) text(name string) string {
	value, _ := f.get(name)
	v, ok := value.(string)
	switch {
	case !ok:
		f.refuse("%s%s must be a string", f.path, name)
	case strings.TrimSpace(v) == "":
		f.refuse("%s%s should not be empty", f.path, name)
	}
	return v
}

// optionalText is text, nil where the field is not there.
func (f fields) optionalText(name string) *string {
	if _, given := f.values[name]; !given {
		*f.known = append(*f.known, name)
		return nil
	}
	text := f.text(name)
	return &text
}

// oneOf returns a required text that is one of a few.
func (f fields) oneOf(name string, values ...string) string {
	value, _ := f.get(name)
	v, _ := value.(string)
	if !slices.Contains(values, v) {
		f.refuse("%s%s must be one of the following values: %s", f.path, name, strings.Join(values, ", "))
	}
	return v
}

// optionalBool returns a truth value, false where the field is not there.
func (f fields) optionalBool(name string) bool {
	v, given := f.get(name)
	value, ok := v.(bool)
	if given && !ok {
		f.refuse("%s%s must be a boolean value", f.path, name)
	}
	return value
}

// optionalID returns an id, nil where the field is not there. Where null means
// something, it is uuid.Nil.
func (f fields) optionalID(name string, nullable bool) *uuid.UUID {
	v, given := f.get(name)
	switch {
	case !given:
		return nil
	case v == nil && nullable:
		return new(uuid.UUID)
	}
	text, _ := v.(string)
	id, ok := parseID(text)
	if !ok || id == uuid.Nil {
		f.refuse("%s%s must be a UUID", f.path, name)
	}
	return &id
}

// list returns a required array of at most so many elements.
func (f fields) list(name string, least, most int) []any {
	v, _ := f.get(name)
	list, ok := v.([]any)
	switch {
	case !ok:
		f.refuse("%s%s must be an array", f.path, name)
	case len(list) < least:
		f.refuse("%s%s must contain at least %d elements", f.path, name, least)
	case len(list) > most:
		f.refuse("%s%s must contain no more than %d elements", f.path, name, most)
		return nil
	}
	return list
}

// texts returns a required array of texts.
func (f fields) texts(name string, most int) []string {
	list := f.list(name, 0, most)
	out := make([]string, len(list))
	for i, v := range list {
		text, ok := v.(string)
		if !ok {
			f.refuse("each value in %s%s must be a string", f.path, name)
			break
		}
		out[i] = text
	}
	return out
}

// objects returns a required array of objects, each of which is checked on its
// own.
func (f fields) objects(name string, most int) []fields {
	list := f.list(name, 0, most)
	out := make([]fields, len(list))
	for i, v := range list {
		values, ok := v.(map[string]any)
		if !ok {
			f.refuse("each value in nested property %s%s must be either object or array", f.path, name)
			return nil
		}
		out[i] = newFields(values, fmt.Sprintf("%s%s.%d.", f.path, name, i), f.wrong)
	}
	*f.nested = append(*f.nested, out...)
	return out
}

// version returns an optional version; given is false where the field is not
// there. One that is faulty is 0.
func (f fields) version() (n int, given bool) {
	v, given := f.get("version")
	if !given {
		return 0, false
	}
	number, _ := v.(json.Number)
	value, err := number.Float64()
	switch {
	case err != nil || value != math.Trunc(value):
		f.refuse("version must be an integer number")
	case value < 1:
		f.refuse("version must not be less than 1")
	case value > math.MaxInt32:
		f.refuse("version must not be greater than %d", math.MaxInt32)
	default:
		return int(value), true
	}
	return 0, true
}

// versionForDocument returns the version of a document that the change is for.
func (f fields) versionForDocument(c *call) int {
	version, given := f.version()
	return c.versionForDocument(version, given, f.wrong)
}
