package problem

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"annals/events/nearest"
)

// Field is one error in a field of a core request, in the format of pydantic v2.
type Field struct {
	Type  string         `json:"type"`
	Loc   []any          `json:"loc"`
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// Invalid is an error of kind fault.Invalid that lists the errors in the fields of a core
// request.
type Invalid struct{ Fields []Field }

func (e *Invalid) Error() string {
	f := e.Fields[0]
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

// Limits on the size of an error reply.
const (
	MaxFaults = 100      // maximum number of errors
	MaxEcho   = 16 << 10 // maximum size of an input value that an error repeats, in bytes
)

// Fields collects up to MaxFaults errors in a core request.
type Fields []Field

// Add adds an error. kind and msg are pydantic's type and message, input is the invalid value,
// ctx are the parameters of the message, and loc is the location of the field.
func (f *Fields) Add(kind, msg string, input any, ctx map[string]any, loc ...any) {
	if len(*f) < MaxFaults {
		*f = append(*f, Field{kind, loc, msg, echo(input), ctx})
	}
}

// Err returns an *Invalid with the errors, or nil if there are none.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Invalid{f}
}

// echo returns an input value as an error repeats it, or nil if its JSON is too long.
func echo(input any) any {
	if b, err := json.Marshal(input); err != nil || len(b) > MaxEcho {
		return nil
	}
	return input
}

// ValueError returns the error for a value that has the right type but is not accepted.
func ValueError(loc []any, why string, input any) Field {
	return Field{"value_error", loc, "Value error, " + why, echo(input), map[string]any{"error": map[string]any{}}}
}

// TooLong adds the error for a list with more entries than limit.
func (f *Fields) TooLong(input any, limit, got int, loc []any) {
	f.Add("too_long", fmt.Sprintf("List should have at most %d items after validation, not %d", limit, got), input,
		map[string]any{"field_type": "List", "max_length": limit, "actual_length": got}, loc...)
}

// AddValue adds the error for a value that has the right type but is not accepted. err is the
// reason.
func (f *Fields) AddValue(loc []any, err error, input any) {
	if len(*f) < MaxFaults {
		_, why := Describe(err)
		*f = append(*f, ValueError(loc, why, input))
	}
}

// Unknown adds the error for an unknown field in the object at loc. The error suggests the
// most similar of the known names.
func (f *Fields) Unknown(name string, input any, known []string, loc []any) {
	f.Add("extra_forbidden", "Extra inputs are not permitted: "+nearest.Hint(name, known), input, nil, Under(loc, nearest.Shortened(name))...)
}

// Under returns loc extended by at, which is a name or an index.
func Under(loc []any, at any) []any { return append(loc[:len(loc):len(loc)], at) }

// Rejected is an error of kind fault.Invalid that lists the errors in a vault request, in the
// words of class-validator, the validation library of NestJS.
type Rejected []string

func (e Rejected) Error() string { return strings.Join(e, "; ") }
