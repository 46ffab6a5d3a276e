package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"annals/events/nearest"
	"annals/http/problem"

	"github.com/google/uuid"
)

// Fields is the JSON object in the body of a vault request. Its methods each read one field,
// and add errors to Wrong in the words of class-validator, the validation library of NestJS.
// Err reports fields that no method has read as unknown.
type Fields struct {
	Wrong *problem.Rejected
	members
	path   string    // path of a nested object with a trailing dot; "" for the body itself
	nested *[]Fields // objects below this one, for RefuseUnknown
}

func newFields(values map[string]any, path string, wrong *problem.Rejected) Fields {
	return Fields{wrong, newMembers(values), path, new([]Fields)}
}

// RefuseUnknown adds an error for each field that no method has read, in this object and in
// nested ones.
func (f Fields) RefuseUnknown() {
	for _, name := range f.Unknown() {
		if len(*f.Wrong) >= problem.MaxFaults {
			return
		}
		f.Refuse("property %s%s should not exist: %s", f.path, nearest.Shortened(name), nearest.Hint(name, *f.known))
	}
	for _, n := range *f.nested {
		n.RefuseUnknown()
	}
}

// ReadFields reads the JSON object in the body of a vault request of up to limit bytes.
func ReadFields(r *http.Request, limit int64) (Fields, error) {
	text, err := ReadBody(r, limit)
	if err != nil {
		return Fields{}, err
	}
	return ParseFields(text, r.Header.Get("Content-Type"))
}

// ParseFields parses the JSON object in a body that was read before.
func ParseFields(text []byte, contentType string) (Fields, error) {
	f := newFields(nil, "", new(problem.Rejected))
	text, ok := isText(text)
	if !ok || !isJSON(contentType) {
		return f, problem.Rejected{"body must be a JSON object"}
	}
	body, err := DecodeJSON(bytes.TrimSpace(text))
	if f.values, ok = body.(map[string]any); err != nil || !ok {
		return f, problem.Rejected{"body must be a JSON object"}
	}
	return f, nil
}

// Refuse adds an error to Wrong.
func (f Fields) Refuse(format string, args ...any) {
	*f.Wrong = append(*f.Wrong, fmt.Sprintf(format, args...))
}

// Err returns one error with all errors in Wrong, or nil. Call it after reading every field.
func (f Fields) Err() error {
	f.RefuseUnknown()
	if len(*f.Wrong) == 0 {
		return nil
	}
	return *f.Wrong
}

// Text returns the text of a required field. It must not be empty.
func (f Fields) Text(name string) string {
	value, _ := f.Get(name)
	v, ok := value.(string)
	switch {
	case !ok:
		f.Refuse("%s%s must be a string", f.path, name)
	case strings.TrimSpace(v) == "":
		f.Refuse("%s%s should not be empty", f.path, name)
	}
	return v
}

// OptionalText is like Text, but returns nil if the field is missing.
func (f Fields) OptionalText(name string) *string {
	if _, given := f.values[name]; !given {
		*f.known = append(*f.known, name)
		return nil
	}
	text := f.Text(name)
	return &text
}

// OneOf returns the text of a required field. It must be one of values.
func (f Fields) OneOf(name string, values ...string) string {
	value, _ := f.Get(name)
	v, _ := value.(string)
	if !slices.Contains(values, v) {
		f.Refuse("%s%s must be one of the following values: %s", f.path, name, strings.Join(values, ", "))
	}
	return v
}

// OptionalBool returns a boolean, false if the field is missing.
func (f Fields) OptionalBool(name string) bool {
	v, given := f.Get(name)
	value, ok := v.(bool)
	if given && !ok {
		f.Refuse("%s%s must be a boolean value", f.path, name)
	}
	return value
}

// OptionalID returns the id in a field, or nil if the field is missing. If nullable is true,
// the field may be null, for which OptionalID returns uuid.Nil.
func (f Fields) OptionalID(name string, nullable bool) *uuid.UUID {
	v, given := f.Get(name)
	switch {
	case !given:
		return nil
	case v == nil && nullable:
		return new(uuid.UUID)
	}
	text, _ := v.(string)
	id, ok := ParseID(text)
	if !ok || id == uuid.Nil {
		f.Refuse("%s%s must be a UUID", f.path, name)
	}
	return &id
}

// List returns the array in a required field, with low to high elements.
func (f Fields) List(name string, low, high int) []any {
	v, _ := f.Get(name)
	list, ok := v.([]any)
	switch {
	case !ok:
		f.Refuse("%s%s must be an array", f.path, name)
	case len(list) < low:
		f.Refuse("%s%s must contain at least %d elements", f.path, name, low)
	case len(list) > high:
		f.Refuse("%s%s must contain no more than %d elements", f.path, name, high)
		return nil
	}
	return list
}

// Texts returns the array of texts in a required field, with up to limit elements.
func (f Fields) Texts(name string, limit int) []string {
	list := f.List(name, 0, limit)
	out := make([]string, len(list))
	for i, v := range list {
		text, ok := v.(string)
		if !ok {
			f.Refuse("each value in %s%s must be a string", f.path, name)
			break
		}
		out[i] = text
	}
	return out
}

// Objects returns the array of objects in a required field, with up to limit elements. Err
// also checks these objects for unknown fields.
func (f Fields) Objects(name string, limit int) []Fields {
	list := f.List(name, 0, limit)
	out := make([]Fields, len(list))
	for i, v := range list {
		values, ok := v.(map[string]any)
		if !ok {
			f.Refuse("each value in nested property %s%s must be either object or array", f.path, name)
			return nil
		}
		out[i] = newFields(values, fmt.Sprintf("%s%s.%d.", f.path, name, i), f.Wrong)
	}
	*f.nested = append(*f.nested, out...)
	return out
}

// Version returns the field version. given is false if the field is missing. For an invalid
// version n is 0.
func (f Fields) Version() (n int, given bool) {
	v, given := f.Get("version")
	if !given {
		return 0, false
	}
	number, _ := v.(json.Number)
	value, err := number.Float64()
	switch {
	case err != nil || value != math.Trunc(value):
		f.Refuse("version must be an integer number")
	case value < 1:
		f.Refuse("version must not be less than 1")
	case value > math.MaxInt32:
		f.Refuse("version must not be greater than %d", math.MaxInt32)
	default:
		return int(value), true
	}
	return 0, true
}
