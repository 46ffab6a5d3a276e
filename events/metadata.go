package events

import (
	"encoding/json"
	"strconv"
	"strings"
)

// readMetadata reads an event's metadata. What Log writes has one form, which
// is read here without reflection, as every event of a replay needs it;
// anything else that is JSON is left to encoding/json.
func readMetadata(b []byte) (Metadata, error) {
	if m, ok := plainMetadata(string(b)); ok {
		return m, nil
	}
	var m Metadata
	err := json.Unmarshal(b, &m)
	return m, err
}

// plainMetadata reads metadata whose fields stand in the order of the struct
// and hold plain ASCII. Where ok is false it knows nothing about s.
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

// text cuts s at the quote that ends a JSON string; ok is false for one that
// is not plain ASCII as it stands.
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
