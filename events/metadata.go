package events

import (
	"encoding/json"
	"strconv"
	"strings"
)

// readMetadata decodes an event's metadata. The form that Log writes is decoded
// without reflection, because a replay does this for every event; encoding/json
// decodes any other form.
func readMetadata(b []byte) (Metadata, error) {
	if m, ok := plainMetadata(string(b)); ok {
		return m, nil
	}
	var m Metadata
	err := json.Unmarshal(b, &m)
	return m, err
}

// plainMetadata decodes metadata whose fields are in the order of the struct and hold
// plain ASCII. If s has another form or is invalid, ok is false.
func plainMetadata(s string) (m Metadata, ok bool) {
	s, ok = strings.CutPrefix(s, `{"time":"`)
	if !ok {
		return m, false
	}
	stamp, s, ok := text(s)
	if !ok || m.Time.UnmarshalText([]byte(stamp)) != nil {
		return m, false
	}
	var actor string
	for _, f := range [...]struct {
		key string
		to  *string
	}{
		{`,"actor":"`, &actor},
		{`,"via":"`, &m.Via},
		{`,"correlation_id":"`, &m.Correlation},
		{`,"causation_id":"`, &m.Causation},
	} {
		rest, found := strings.CutPrefix(s, f.key)
		if !found {
			continue
		}
		if *f.to, s, ok = text(rest); !ok {
			return m, false
		}
	}
	m.Actor = Principal(actor)
	s, ok = strings.CutPrefix(s, `,"schema":`)
	digits, end := strings.CutSuffix(s, `}`)
	if !ok || !end || len(digits) > 9 || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return m, false
	}
	schema, err := strconv.Atoi(digits)
	m.Schema = schema
	return m, err == nil
}

// text cuts s at the quote that ends a JSON string; ok is false if the string has
// escapes or is not plain ASCII.
func text(s string) (before, after string, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			return s[:i], s[i+1:], true
		case c == '\\' || c < ' ' || c > '~':
			return "", "", false
		}
	}
	return "", "", false
}
