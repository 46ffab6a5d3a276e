// Package apitoken has the form of the tokens by which programs sign in as
// themselves: what they look like, how long they may last, and what they allow.
//
// A token begins with a word that scanners for leaked secrets can look for, and ends
// with a checksum, by which they, and the service, know a real one from a text that
// looks like it without asking any store.
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

// Prefix begins every token. Scanners look for Prefix, 40 letters or digits: Pattern.
const Prefix = "annals_"

// Pattern matches a token, and what has its form alone.
const Pattern = Prefix + `[0-9A-Za-z]{40}`

const (
	// alphabet has 62 characters, so that 34 of them hold 202 random bits, and a
	// double click selects all of a token.
	alphabet      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength  = 34
	checkedLength = len(Prefix) + secretLength
	sumLength     = 6 // of the alphabet: enough for 32 bits
)

// The id of a token, which is no secret: idPrefix with so many characters of an
// alphabet without those that look like others. Ids of grants may begin like it, and
// are longer.
const (
	idPrefix   = "t-"
	idLength   = 12
	idAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"
)

// New returns a new token and the id by which people name it. The id says nothing of
// the token.
func New() (token, id string) {
	body := Prefix + random(secretLength, alphabet)
	return body + checksum(body), idPrefix + random(idLength, idAlphabet)
}

// random returns so many characters of an alphabet, each as likely as the others.
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

// checksum returns the CRC-32 of a text in the alphabet. It finds what was cut off
// or mistyped; it protects nothing.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, sumLength)
	for i := sumLength - 1; i >= 0; i-- {
		out[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(out)
}

// Is reports whether a text is meant to be a token of this kind.
func Is(text string) bool { return strings.HasPrefix(text, Prefix) }

// IsID reports whether a text has the form of a token's id.
func IsID(text string) bool {
	rest, ok := strings.CutPrefix(text, idPrefix)
	return ok && len(rest) == idLength && strings.Trim(rest, idAlphabet) == ""
}

// Digest returns what is stored of a token, or false for a text that cannot be one.
// A plain hash is enough for what cannot be guessed.
func Digest(token string) ([]byte, bool) {
	if len(token) != checkedLength+sumLength || !whole.MatchString(token) || checksum(token[:checkedLength]) != token[checkedLength:] {
		return nil, false
	}
	sum := sha256.Sum256([]byte(token))
	return sum[:], true
}

var whole = regexp.MustCompile(`^` + Pattern + `$`)

// Scope is what a token allows of all that its account may do.
type Scope string

// The scopes. Each allows what the ones before it do.
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

// Narrowed returns the scope of a request by OAuth, which lists scopes with blanks
// between them: that of s unless known ones are named, and false for one beyond s.
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

// How long a token may last. There is none for ever: whoever forgets one has a year's
// worth of it at most.
const (
	DefaultLifetime = 90 * day
	LongestLifetime = 366 * day
	shortest        = time.Minute
	day             = 24 * time.Hour
)

// Lifetime is how long a new token lasts, as a flag: in days, as 90d, or as 2160h.
type Lifetime time.Duration

// String returns days where it is a number of them.
func (l *Lifetime) String() string {
	if d := time.Duration(*l); d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return time.Duration(*l).String()
}

// Type is the kind of value, for help.
func (l *Lifetime) Type() string { return "duration" }

// Set reads a lifetime.
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
		return fmt.Errorf("%q is no duration, such as 90d or 12h", text)
	case d < shortest || d > LongestLifetime:
		return errors.New("a token lasts from 1m to 366d")
	}
	*l = Lifetime(d)
	return nil
}
