package problem

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"annals/events/nearest"
)

// Field is an error in one field of a core request, in the format of pydantic v2.
type Field struct {
	Type  string         `json:"type"`
	Loc   []any          `json:"loc"`
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// Invalid is an error of kind fault.Invalid that names every wrong field of a core
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

// Limits of an error reply.
const (
	MaxFaults = 100      // errors
	MaxEcho   = 16 << 10 // bytes of an input that an error repeats
)

// Fields collects the errors in a core request, up to MaxFaults.
type Fields []Field

// Add adds an error with pydantic's type and message, the invalid input, the message's
// context, and the field's location.
func (f *Fields) Add(kind, msg string, input any, ctx map[string]any, loc ...any) {
	if len(*f) < MaxFaults {
		*f = append(*f, Field{kind, loc, msg, echo(input), ctx})
	}
}

// Err returns an *Invalid, or nil if nothing is wrong.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Invalid{f}
}

// echo returns an input to repeat in an error, or nil if it is too long.
func echo(input any) any {
	if b, err := json.Marshal(input); err != nil || len(b) > MaxEcho {
		return nil
	}
	return input
}

// ValueError returns the error for a value of the right type that is not accepted.
func ValueError(loc []any, why string, input any) Field {
	return Field{"value_error", loc, "Value error, " + why, echo(input), map[string]any{"error": map[string]any{}}}
}

// TooLong adds the error for a list with more entries than limit.
func (f *Fields) TooLong(input any, limit, got int, loc []any) {
	f.Add("too_long", fmt.Sprintf("List should have at most %d items after validation, not %d", limit, got), input,
		map[string]any{"field_type": "List", "max_length": limit, "actual_length": got}, loc...)
}

// AddValue adds the error for a value of the right type that is not accepted because of
// err.
func (f *Fields) AddValue(loc []any, err error, input any) {
	if len(*f) < MaxFaults {
		_, why := Describe(err)
		*f = append(*f, ValueError(loc, why, input))
	}
}

// Unknown adds the error for an unknown field at loc, with the known name that was
// probably meant.
func (f *Fields) Unknown(name string, input any, known []string, loc []any) {
	f.Add("extra_forbidden", "Extra inputs are not permitted: "+nearest.Hint(name, known), input, nil, Under(loc, nearest.Shortened(name))...)
}

// Under returns the location of a name or index under loc.
func Under(loc []any, at any) []any { return append(loc[:len(loc):len(loc)], at) }

// Rejected is an error of kind fault.Invalid that lists the errors in a vault request, in
// the words of class-validator.
type Rejected []string

func (e Rejected) Error() string { return strings.Join(e, "; ") }
