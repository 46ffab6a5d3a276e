package problem

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"annals/events/nearest"
)

// Field is what is wrong with one field of a core request, in the words of
// pydantic v2.
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

// Bounds of what an error repeats of the request.
const (
	MaxFaults = 100
	MaxEcho   = 16 << 10 // bytes of one input
)

// Fields collects what is wrong with a core request, MaxFaults at most.
type Fields []Field

// Add adds a wrong field: its kind and message as pydantic has them, the value that
// was given, the message's context, and the field's location.
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

// echo returns an input as an error repeats it: null if it is too long.
func echo(input any) any {
	if b, err := json.Marshal(input); err != nil || len(b) > MaxEcho {
		return nil
	}
	return input
}

// ValueError is the fault of a value that has the right type but is not accepted.
func ValueError(loc []any, why string, input any) Field {
	return Field{"value_error", loc, "Value error, " + why, echo(input), map[string]any{"error": map[string]any{}}}
}

// TooLong adds a list that has more entries than limit.
func (f *Fields) TooLong(input any, limit, got int, loc []any) {
	f.Add("too_long", fmt.Sprintf("List should have at most %d items after validation, not %d", limit, got), input,
		map[string]any{"field_type": "List", "max_length": limit, "actual_length": got}, loc...)
}

// AddValue adds a value that has the right type but is not accepted because of err.
func (f *Fields) AddValue(loc []any, err error, input any) {
	if len(*f) < MaxFaults {
		_, why := Describe(err)
		*f = append(*f, ValueError(loc, why, input))
	}
}

// Unknown adds a field that does not exist at loc, with the known one that it may
// be meant for.
func (f *Fields) Unknown(name string, input any, known []string, loc []any) {
	f.Add("extra_forbidden", "Extra inputs are not permitted: "+nearest.Hint(name, known), input, nil, Under(loc, nearest.Shortened(name))...)
}

// Under returns the location of a name or index under loc.
func Under(loc []any, at any) []any { return append(loc[:len(loc):len(loc)], at) }

// Rejected is an error of kind fault.Invalid that lists what is wrong with a vault
// request, in the words of class-validator.
type Rejected []string

func (e Rejected) Error() string { return strings.Join(e, "; ") }
