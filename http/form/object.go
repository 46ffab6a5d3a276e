package form

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"annals/http/problem"

	"github.com/google/uuid"
)

// members are the members of a JSON object. Those that Get never reads are unknown.
type members struct {
	values map[string]any
	known  *[]string // names that were read by Get
}

func newMembers(values map[string]any) members { return members{values, new([]string)} }

// Get returns the value of a member. given is false if the object has no such member.
func (m members) Get(name string) (v any, given bool) {
	*m.known = append(*m.known, name)
	v, given = m.values[name]
	return v, given
}

// Unknown returns the sorted names of the members that Get never read.
func (m members) Unknown() (names []string) {
	for name := range m.values {
		if !slices.Contains(*m.known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Object is a JSON object in a request to the core. Its methods each read one field and add
// errors to found.
type Object struct {
	members
	loc   []any
	found *problem.Fields
}

// NewObject returns an object. loc is the location of the object in errors, such as ["body"].
func NewObject(loc []any, values map[string]any, found *problem.Fields) Object {
	return Object{newMembers(values), loc, found}
}

// RefuseUnknown adds an error for each field that no method has read.
func (o Object) RefuseUnknown() {
	for _, name := range o.Unknown() {
		if len(*o.found) >= problem.MaxFaults {
			return
		}
		o.found.Unknown(name, o.values[name], *o.known, o.loc)
	}
}

// missing adds the error for a missing required field.
func (o Object) missing(name string) {
	o.found.Add("missing", "Field required", o.values, nil, problem.Under(o.loc, name)...)
}

// Text returns a required string of at most limit characters.
func (o Object) Text(name string, limit int) string {
	v, ok := o.Get(name)
	if !ok {
		o.missing(name)
		return ""
	}
	return o.str(problem.Under(o.loc, name), v, limit)
}

// OptionalText returns a string, or "" if the field is missing or null.
func (o Object) OptionalText(name string) string {
	if v, _ := o.Get(name); v != nil {
		return o.str(problem.Under(o.loc, name), v, 0)
	}
	return ""
}

func (o Object) str(loc []any, v any, limit int) string {
	s, ok := v.(string)
	if !ok {
		o.found.Add("string_type", "Input should be a valid string", v, nil, loc...)
	} else if limit > 0 && utf8.RuneCountInString(s) > limit {
		o.found.Add("string_too_long", "String should have at most "+strconv.Itoa(limit)+" characters", v,
			map[string]any{"max_length": limit}, loc...)
	}
	return s
}

// OptionalInt returns an integer from low to high, 0 if it is missing or null.
func (o Object) OptionalInt(name string, low, high int) int {
	v, _ := o.Get(name)
	if v == nil {
		return 0
	}
	loc := problem.Under(o.loc, name)
	number, ok := v.(json.Number)
	if !ok {
		o.found.Add("int_type", "Input should be a valid integer", v, nil, loc...)
		return 0
	}
	n, err := number.Float64()
	if err != nil {
		v = nil // most JSON parsers cannot read a number that overflows float64
	}
	switch {
	case n != math.Trunc(n):
		o.found.Add("int_from_float", "Input should be a valid integer, got a number with a fractional part", v, nil, loc...)
	case n < float64(low):
		o.found.Add("greater_than_equal", "Input should be greater than or equal to "+strconv.Itoa(low), v, map[string]any{"ge": low}, loc...)
	case n > float64(high):
		o.found.Add("less_than_equal", "Input should be less than or equal to "+strconv.Itoa(high), v, map[string]any{"le": high}, loc...)
	default:
		return int(n)
	}
	return 0
}

// OptionalID returns an id, uuid.Nil if it is missing or null.
func (o Object) OptionalID(name string) uuid.UUID {
	v, _ := o.Get(name)
	if v == nil {
		return uuid.Nil
	}
	text, isText := v.(string)
	id, ok := ParseID(text)
	switch {
	case !isText:
		o.found.Add("uuid_type", "UUID input should be a string, bytes or UUID object", v, nil, problem.Under(o.loc, name)...)
	case !ok || id == uuid.Nil:
		o.found.Add("uuid_parsing", "Input should be a valid UUID", v, nil, problem.Under(o.loc, name)...)
	}
	return id
}

// list returns an optional list of up to limit values, and its location. The list is nil if there
// is none, or if it is invalid.
func (o Object) list(name string, v any, limit int) ([]any, []any) {
	loc := problem.Under(o.loc, name)
	list, ok := v.([]any)
	if !ok {
		o.found.Add("list_type", "Input should be a valid list", v, nil, loc...)
		return nil, loc
	}
	if len(list) > limit {
		o.found.TooLong(v, limit, len(list), loc)
		return nil, loc
	}
	return list, loc
}

// Texts returns an optional list of up to limit strings. The field may be null only if
// nullable is true.
func (o Object) Texts(name string, limit int, nullable bool) []string {
	v, ok := o.Get(name)
	if !ok || v == nil && nullable {
		return nil
	}
	list, loc := o.list(name, v, limit)
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = o.str(problem.Under(loc, i), e, 0)
	}
	return out
}

// Objects returns an optional list of up to limit objects.
func (o Object) Objects(name string, limit int) []Object {
	v, _ := o.Get(name)
	if v == nil {
		return nil
	}
	list, loc := o.list(name, v, limit)
	var out []Object
	for i, e := range list {
		values, ok := e.(map[string]any)
		if !ok {
			o.found.Add("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", e, nil, problem.Under(loc, i)...)
			continue
		}
		out = append(out, NewObject(problem.Under(loc, i), values, o.found))
	}
	return out
}

// Boolean returns an optional boolean, false if it is missing or null.
func (o Object) Boolean(name string) bool {
	v, _ := o.Get(name)
	b, ok := v.(bool)
	if !ok && v != nil {
		o.found.Add("bool_type", "Input should be a valid boolean", v, nil, problem.Under(o.loc, name)...)
	}
	return b
}

// OneOf returns a string that must be first or second. If the field is missing, it returns
// first.
func (o Object) OneOf(name, first, second string) string {
	v, ok := o.Get(name)
	if !ok {
		return first
	}
	if v != first && v != second {
		expected := "'" + first + "' or '" + second + "'"
		o.found.Add("literal_error", "Input should be "+expected, v, map[string]any{"expected": expected}, problem.Under(o.loc, name)...)
		return first
	}
	return v.(string)
}

// ReadObject reads the JSON object in the body of a core request, up to limit bytes. Methods
// of the object add errors in its fields to found. If the body is not a JSON object,
// ReadObject returns the same error as FastAPI.
func ReadObject(r *http.Request, limit int64, found *problem.Fields) (Object, error) {
	o := NewObject([]any{"body"}, nil, found)
	text, err := ReadBody(r, limit)
	if err != nil {
		return o, err
	}
	if len(text) == 0 {
		found.Add("missing", "Field required", nil, nil, "body")
		return o, found.Err()
	}
	text, ok := isText(text)
	if !ok {
		return o, &problem.Error{Status: http.StatusBadRequest, Text: "There was an error parsing the body"}
	}
	var v any = string(text)
	if isJSON(r.Header.Get("Content-Type")) {
		if v, err = DecodeJSON(text); err != nil {
			position, why := JSONFault(text)
			found.Add("json_invalid", "JSON decode error", map[string]any{}, map[string]any{"error": why}, "body", position)
			return o, found.Err()
		}
	}
	if o.values, ok = v.(map[string]any); !ok {
		found.Add("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", v, nil, "body")
		return o, found.Err()
	}
	return o, nil
}
