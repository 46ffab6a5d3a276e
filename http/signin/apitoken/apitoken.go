// Package apitoken defines the format, scopes and lifetimes of API tokens, with which programs
// sign in without a user.
//
// A token begins with a fixed prefix and ends with a checksum. Secret scanners can search for
// the prefix, and verify the checksum without access to a database.
//
// It may import events/fault and the standard library alone.
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

const (
	prefix = "annals_"
	// alphabet contains only letters and digits, so that a double click selects a whole token.
	alphabet       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength   = 34 // 202 random bits
	checkedLength  = len(prefix) + secretLength
	checksumLength = 6 // 62^6 is more than 2^32
)

var pattern = regexp.MustCompile(`^` + prefix + `[0-9A-Za-z]{40}$`)

// The id of a token is not secret. It consists of idPrefix and idLength characters from an
// alphabet without lookalikes. The id of a grant may begin with idPrefix too, but is longer.
const (
	idPrefix   = "t-"
	idLength   = 12
	idAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"
)

// New returns a new token and its id. The id reveals nothing about the token.
func New() (token, id string) {
	body := prefix + random(secretLength, alphabet)
	return body + checksum(body), idPrefix + random(idLength, idAlphabet)
}

// random returns n characters of chars, each equally likely.
func random(n int, chars string) string {
	var out strings.Builder
	// Skip bytes from limit on. They would make the first characters of chars more likely.
	limit := 256 / len(chars) * len(chars)
	buffer := make([]byte, 2*n)
	for {
		rand.Read(buffer)
		for _, b := range buffer {
			if int(b) >= limit {
				continue
			}
			out.WriteByte(chars[int(b)%len(chars)])
			if out.Len() == n {
				return out.String()
			}
		}
	}
}

// checksum returns the CRC-32 of a text, written in the alphabet. It detects truncation and
// typing errors, but not forgery.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, checksumLength)
	for i := checksumLength - 1; i >= 0; i-- {
		out[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(out)
}

// Is reports whether a text begins with the prefix of API tokens. The rest may still be
// malformed.
func Is(text string) bool { return strings.HasPrefix(text, prefix) }

// IsID reports whether a text has the format of an API token's id.
func IsID(text string) bool {
	rest, ok := strings.CutPrefix(text, idPrefix)
	return ok && len(rest) == idLength && strings.Trim(rest, idAlphabet) == ""
}

// Digest returns the SHA-256 of a token, which is stored in place of the token. It returns
// false if the text does not have the format of a token. Tokens are too random to be guessed,
// so they need no salted, slow hash.
func Digest(token string) ([]byte, bool) {
	if len(token) != checkedLength+checksumLength || !pattern.MatchString(token) || checksum(token[:checkedLength]) != token[checkedLength:] {
		return nil, false
	}
	sum := sha256.Sum256([]byte(token))
	return sum[:], true
}

// Scope limits what a token may do. Its account may have more rights.
type Scope string

// The scopes. Write includes what Read allows.
const (
	Read  Scope = "read"
	Write Scope = "write"
)

// ParseScope returns the scope with the given name. The error is Invalid if there is none.
func ParseScope(text string) (Scope, error) {
	switch s := Scope(text); s {
	case Read, Write:
		return s, nil
	}
	return "", fault.Errorf(fault.Invalid, "the scope %q is neither read nor write", text)
}

// Narrowed returns the scope for an OAuth request: the widest known scope in requested, a list
// separated by spaces, or s if none is known. It returns false if the requested scope allows
// more than s.
func (s Scope) Narrowed(requested string) (Scope, bool) {
	narrow := Scope("")
	for word := range strings.FieldsSeq(requested) {
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

// The lifetimes of tokens. Every token expires, so that a token that nobody remembers does not
// stay valid.
const (
	DefaultLifetime = 90 * day
	MaxLifetime     = 366 * day
	minLifetime     = time.Minute
	day             = 24 * time.Hour
)

// Lifetime is a pflag.Value for a lifetime: a number of days such as 90d, or a Go duration
// such as 2160h.
type Lifetime time.Duration

// String returns the lifetime in a form that Set accepts: in days if it is a whole number of
// days.
func (l *Lifetime) String() string {
	if d := time.Duration(*l); d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return time.Duration(*l).String()
}

// Type returns the name of the type in the help text of the flag.
func (l *Lifetime) Type() string { return "duration" }

// Set parses a lifetime from one minute to MaxLifetime.
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
		return errors.New("every token expires: choose a lifetime of up to 366d, and create another token before it ends")
	case err != nil:
		return fmt.Errorf("%q is not a duration: write it as 90d or 12h", text)
	case d < minLifetime || d > MaxLifetime:
		return errors.New("the lifetime of a token must be from 1m to 366d")
	}
	*l = Lifetime(d)
	return nil
}
