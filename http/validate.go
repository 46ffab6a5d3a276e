package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"annals/events/nearest"

	"github.com/google/uuid"
)

// validationFault is what is wrong with one field of a core request, in the
// words of pydantic v2.
type validationFault struct {
	Type  string         `json:"type"`
	Loc   []any          `json:"loc"`
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// invalid is an error of kind fault.Invalid that names every fault of a core
// request.
type invalid struct{ faults []validationFault }

func (e *invalid) Error() string {
	f := e.faults[0]
	return f.Msg + " (" + f.Type + " in " + strings.Join(locText(f.Loc), ".") + ")"
}

func locText(loc []any) []string {
	out := make([]string, len(loc))
	for i, v := range loc {
		switch v := v.(type) {
		case string:
			out[i] = v
		case int:
			out[i] = strconv.Itoa(v)
		}
	}
	return out
}

// Bounds of what a refusal repeats of the request.
const (
	maxFaults = 100
	maxEcho   = 16 << 10 // bytes of one input
)

// faults gathers what is wrong with a request.
type faults []validationFault

func (f *faults) add(kind, msg string, input any, ctx map[string]any, loc ...any) {
	if len(*f) < maxFaults {
		*f = append(*f, validationFault{kind, loc, msg, echo(input), ctx})
	}
}

// err returns the faults as an error, nil where there are none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &invalid{f}
}

// echo returns an input as a refusal repeats it: null where it is too long.
func echo(input any) any {
	if b, err := json.Marshal(input); err != nil || len(b) > maxEcho {
		return nil
	}
	return input
}

// valueError is a value of the right type that will not do.
func valueError(loc []any, why string, input any) validationFault {
	return validationFault{"value_error", loc, "Value error, " + why, echo(input), map[string]any{"error": map[string]any{}}}
}

// under returns the place of a name or index under loc.
func under(loc []any, at any) []any { return append(loc[:len(loc):len(loc)], at) }

// members are those of a JSON object. What nobody asked for is unknown.
type members struct {
	values map[string]any
	known  *[]string // what was asked for
}

func newMembers(values map[string]any) members { return members{values, new([]string)} }

// get returns a member's value, and whether it is there.
func (m members) get(name string) (v any, given bool) {
	*m.known = append(*m.known, name)
	v, given = m.values[name]
	return v, given
}

// unknown returns the names of those that are not known, in order.
func (m members) unknown() (names []string) {
	for name := range m.values {
		if !slices.Contains(*m.known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// object is a JSON object whose fields are being checked; faults go to found.
type object struct {
	members
	loc   []any
	found *faults
}

func newObject(loc []any, values map[string]any, found *faults) object {
	return object{newMembers(values), loc, found}
}

// refuseUnknown refuses the fields that nobody asked for until now.
func (o object) refuseUnknown() {
	for _, name := range o.unknown() {
		if len(*o.found) >= maxFaults {
			return
		}
		o.found.unknown(name, o.values[name], *o.known, o.loc)
	}
}

// unknown refuses a field that does not exist at loc.
func (f *faults) unknown(name string, input any, known []string, loc []any) {
	f.add("extra_forbidden", "Extra inputs are not permitted: "+nearest.Hint(name, known), input, nil, under(loc, nearest.Shortened(name))...)
}

// missing tells that a required field is not there.
func (o object) missing(name string) {
	o.found.add("missing", "Field required", o.values, nil, under(o.loc, name)...)
}

// text returns a required string of at most limit characters.
func (o object) text(name string, limit int) string {
	v, ok := o.get(name)
	if !ok {
		o.missing(name)
		return ""
	}
	return o.str(under(o.loc, name), v, limit)
}

// optionalText returns a string that may be missing or null.
func (o object) optionalText(name string) string {
	if v, _ := o.get(name); v != nil {
		return o.str(under(o.loc, name), v, 0)
	}
	return ""
}

func (o object) str(loc []any, v any, limit int) string {
	s, ok := v.(string)
	if !ok {
		o.found.add("string_type", "Input should be a valid string", v, nil, loc...)
	} else if limit > 0 && utf8.RuneCountInString(s) > limit {
		o.found.add("string_too_long", "String should have at most "+strconv.Itoa(limit)+" characters", v,
			map[string]any{"max_length": limit}, loc...)
	}
	return s
}

// optionalInt returns a whole number within bounds, 0 where it is missing or
// null.
func (o object) optionalInt(name string, least, most int) int {
	v, _ := o.get(name)
	if v == nil {
		return 0
	}
	loc := under(o.loc, name)
	number, ok := v.(json.Number)
	if !ok {
		o.found.add("int_type", "Input should be a valid integer", v, nil, loc...)
		return 0
	}
	n, err := number.Float64()
	if err != nil {
		v = nil // what is beyond floats is not repeated, since clients cannot read it
	}
	switch {
	case n != math.Trunc(n):
		o.found.add("int_from_float", "Input should be a valid integer, got a number with a fractional part", v, nil, loc...)
	case n < float64(least):
		o.found.add("greater_than_equal", "Input should be greater than or equal to "+strconv.Itoa(least), v, map[string]any{"ge": least}, loc...)
	case n > float64(most):
		o.found.add("less_than_equal", "Input should be less than or equal to "+strconv.Itoa(most), v, map[string]any{"le": most}, loc...)
	default:
		return int(n)
	}
	return 0
}

// optionalID returns an id, uuid.Nil where it is missing or null.
func (o object) optionalID(name string) uuid.UUID {
	v, _ := o.get(name)
	if v == nil {
		return uuid.Nil
	}
	text, isText := v.(string)
	id, ok := parseID(text)
	switch {
	case !isText:
		o.found.add("uuid_type", "UUID input should be a string, bytes or UUID object", v, nil, under(o.loc, name)...)
	case !ok || id == uuid.Nil:
		o.found.add("uuid_parsing", "Input should be a valid UUID", v, nil, under(o.loc, name)...)
	}
	return id
}

// texts returns a list of at most limit strings that may be missing, and null
// where nullable.
func (o object) texts(name string, limit int, nullable bool) []string {
	v, ok := o.get(name)
	if !ok || v == nil && nullable {
		return nil
	}
	loc := under(o.loc, name)
	list, ok := v.([]any)
	if !ok {
		o.found.add("list_type", "Input should be a valid list", v, nil, loc...)
		return nil
	}
	if len(list) > limit {
		o.found.tooLong(v, limit, len(list), loc)
		return nil
	}
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = o.str(under(loc, i), e, 0)
	}
	return out
}

// tooLong tells that a list has more entries than limit.
func (f *faults) tooLong(input any, limit, got int, loc []any) {
	f.add("too_long", fmt.Sprintf("List should have at most %d items after validation, not %d", limit, got), input,
		map[string]any{"field_type": "List", "max_length": limit, "actual_length": got}, loc...)
}

// boolean returns true or false, false where it is missing or null.
func (o object) boolean(name string) bool {
	v, _ := o.get(name)
	b, ok := v.(bool)
	if !ok && v != nil {
		o.found.add("bool_type", "Input should be a valid boolean", v, nil, under(o.loc, name)...)
	}
	return b
}

// oneOf returns a string that is one of two, the first where it is missing.
func (o object) oneOf(name, first, second string) string {
	v, ok := o.get(name)
	if !ok {
		return first
	}
	if v != first && v != second {
		expected := "'" + first + "' or '" + second + "'"
		o.found.add("literal_error", "Input should be "+expected, v, map[string]any{"expected": expected}, under(o.loc, name)...)
		return first
	}
	return v.(string)
}

// queryBool returns a boolean of the query, false where it is missing, as
// pydantic reads it.
func queryBool(r *http.Request, name string, found *faults) bool {
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
	found.add("bool_parsing", "Input should be a valid boolean, unable to interpret input", last, nil, "query", name)
	return false
}

// queryText returns a required string of the query.
func queryText(r *http.Request, name string, found *faults) string {
	given := r.URL.Query()[name]
	if len(given) == 0 {
		found.add("missing", "Field required", nil, nil, "query", name)
		return ""
	}
	return given[len(given)-1]
}

// readObject reads the JSON object that is a core request's body. An error
// is what FastAPI tells of a body that is none.
func (s *Server) readObject(r *http.Request, found *faults) (object, error) {
	o := newObject([]any{"body"}, nil, found)
	text, err := s.readBody(r)
	if err != nil {
		return o, err
	}
	if len(text) == 0 {
		found.add("missing", "Field required", nil, nil, "body")
		return o, found.err()
	}
	text, ok := isText(text)
	if !ok {
		return o, &statusError{http.StatusBadRequest, "There was an error parsing the body"}
	}
	var v any = string(text)
	if isJSON(r.Header.Get("Content-Type")) {
		if v, err = decodeJSON(text); err != nil {
			position, why := jsonFault(text)
			found.add("json_invalid", "JSON decode error", map[string]any{}, map[string]any{"error": why}, "body", position)
			return o, found.err()
		}
	}
	if o.values, ok = v.(map[string]any); !ok {
		found.add("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", v, nil, "body")
		return o, found.err()
	}
	return o, nil
}

// readBody reads a body that is held in memory.
func (s *Server) readBody(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, s.Limits.JSONBytes))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, &statusError{http.StatusRequestEntityTooLarge, "the body is longer than " + strconv.FormatInt(s.Limits.JSONBytes, 10) + " bytes"}
	case err != nil:
		return nil, &statusError{http.StatusBadRequest, "There was an error parsing the body"}
	}
	return text, nil
}

// isJSON reports whether a Content-Type is application/json or one made of it.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	kind, sub, _ := strings.Cut(media, "/")
	return err == nil && kind == "application" && (sub == "json" || strings.HasSuffix(sub, "+json"))
}
