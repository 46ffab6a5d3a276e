// Package apitoken has the format of API tokens, by which programs sign in as themselves, with
// their scopes and lifetimes.
//
// A token begins with a prefix that secret scanners look for and ends with a checksum, so that
// scanners and the service recognise a real one without a lookup.
package apitoken

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
	"time"

	"annals/events/fault"
)

// Prefix begins every token.
const Prefix = "annals_"

// Pattern matches texts in the format of a token.
const Pattern = Prefix + `[0-9A-Za-z]{40}`

const (
	// alphabet has 62 characters: 34 of them hold 202 random bits, and a double click selects
	// a whole token.
	alphabet      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength  = 34
	checkedLength = len(Prefix) + secretLength
	sumLength     = 6 // of the alphabet: enough for 32 bits
)

// The id of a token is not secret: idPrefix and idLength characters of an alphabet without
// lookalikes. The ids of grants may begin like it, but are longer.
const (
	idPrefix   = "t-"
	idLength   = 12
	idAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"
)

// New returns a new token and its id, which reveals nothing about the token.
func New() (token, id string) {
	body := Prefix + random(secretLength, alphabet)
	return body + checksum(body), idPrefix + random(idLength, idAlphabet)
}

// random returns n characters of an alphabet, each equally likely.
func random(n int, of string) string {
	var out strings.Builder
	most := byte(256 / len(of) * len(of)) // beyond it some would be likelier; 0 is 256
	buffer := make([]byte, 2*n)
	for {
		rand.Read(buffer)
		for _, b := range buffer {
			if most != 0 && b >= most {
				continue
			}
			out.WriteByte(of[int(b)%len(of)])
			if out.Len() == n {
				return out.String()
			}
		}
	}
}

// checksum returns the CRC-32 of a text in the alphabet. It detects truncation and typing
// errors; it protects nothing.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, sumLength)
	for i := sumLength - 1; i >= 0; i-- {
		out[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(out)
}

// Is reports whether a text claims to be an API token.
func Is(text string) bool { return strings.HasPrefix(text, Prefix) }

// IsID reports whether a text has the format of a token's id.
func IsID(text string) bool {
	rest, ok := strings.CutPrefix(text, idPrefix)
	return ok && len(rest) == idLength && strings.Trim(rest, idAlphabet) == ""
}

// Digest returns what is stored of a token; false if the text is not one. Tokens cannot be
// guessed, so a plain hash is enough.
func Digest(token string) ([]byte, bool) {
	if len(token) != checkedLength+sumLength || !whole.MatchString(token) || checksum(token[:checkedLength]) != token[checkedLength:] {
		return nil, false
	}
	sum := sha256.Sum256([]byte(token))
	return sum[:], true
}

var whole = regexp.MustCompile(`^` + Pattern + `$`)

// Scope is what a token permits of what its account may do.
type Scope string

// The scopes. Each includes the ones before it.
const (
	Read  Scope = "read"
	Write Scope = "write"
)

// ParseScope reads a scope.
func ParseScope(text string) (Scope, error) {
	switch s := Scope(text); s {
	case Read, Write:
		return s, nil
	}
	return "", fault.Errorf(fault.Invalid, "the scope %q is neither read nor write", text)
}

// Narrowed returns the scope of an OAuth request with space-separated scopes: s if it names
// none that is known, and false if it goes beyond s.
func (s Scope) Narrowed(asked string) (Scope, bool) {
	narrow := Scope("")
	for word := range strings.FieldsSeq(asked) {
		switch scope := Scope(word); {
		case scope == Write && s != Write:
			return "", false
		case scope == Write, scope == Read && narrow == "":
			narrow = scope
		}
	}
	if narrow == "" {
		return s, true
	}
	return narrow, true
}

// The lifetimes of tokens. None is unlimited: a forgotten token is valid for a year at most.
const (
	DefaultLifetime = 90 * day
	LongestLifetime = 366 * day
	shortest        = time.Minute
	day             = 24 * time.Hour
)

// Lifetime is a lifetime as a flag: in days, as 90d, or as 2160h.
type Lifetime time.Duration

// String returns whole days as days.
func (l *Lifetime) String() string {
	if d := time.Duration(*l); d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return time.Duration(*l).String()
}

// Type names the kind of value, for help.
func (l *Lifetime) Type() string { return "duration" }

// Set parses a lifetime.
func (l *Lifetime) Set(text string) error {
	var d time.Duration
	var err error
	if n, ok := strings.CutSuffix(text, "d"); ok {
		var days uint64
		days, err = strconv.ParseUint(n, 10, 16)
		d = time.Duration(days) * day
	} else {
		d, err = time.ParseDuration(text)
	}
	switch {
	case text == "never":
		return errors.New("every token expires, after 366d at the latest: make another before it does")
	case err != nil:
		return fmt.Errorf("%q is not a duration: write it as 90d or 12h", text)
	case d < shortest || d > LongestLifetime:
		return errors.New("a token lasts from 1m to 366d")
	}
	*l = Lifetime(d)
	return nil
}
