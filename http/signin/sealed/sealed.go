// Package sealed makes texts that are handed out and recognised when they come back, because
// they are signed with a secret key. Nothing is stored, and anyone can read the texts, so they
// carry no secrets.
//
// It may import the standard library alone.
package sealed

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// KeyBytes is the length of a key.
const KeyBytes = 32

// maxText bounds what Open reads, in bytes.
const maxText = 8 << 10

// The errors of Open.
var (
	ErrForged  = errors.New("the text was not sealed here or was changed")
	ErrExpired = errors.New("the text has expired")
)

// Key signs texts.
type Key [KeyBytes]byte

// NewKey returns a random key.
func NewKey() (k Key) {
	rand.Read(k[:])
	return k
}

// Sealed describes an opened text.
type Sealed struct {
	ID      string // of this text alone
	Expires time.Time
}

type content struct {
	ID      string          `json:"i"`
	Expires int64           `json:"e"` // seconds since 1970
	Value   json.RawMessage `json:"v"`
}

// Seal returns value as a text that Open accepts for the same purpose until it expires. It
// consists of letters, digits, "-", "_" and ".".
func (k Key) Seal(purpose string, value any, expires time.Time) (string, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("seal a %s: %w", purpose, err)
	}
	body, err := json.Marshal(content{rand.Text(), expires.Unix(), encoded})
	if err != nil {
		return "", fmt.Errorf("seal a %s: %w", purpose, err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(k.sign(purpose, text)), nil
}

// Open decodes a text of Seal into value.
func (k Key) Open(purpose, text string, value any, now time.Time) (Sealed, error) {
	if len(text) > maxText {
		return Sealed{}, ErrForged
	}
	encoded, signature, ok := strings.Cut(text, ".")
	signed, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if !ok || err != nil || !hmac.Equal(signed, k.sign(purpose, encoded)) {
		return Sealed{}, ErrForged
	}
	var c content
	body, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err == nil {
		err = json.Unmarshal(c.Value, value)
	}
	if err != nil {
		return Sealed{}, fmt.Errorf("open a %s: %w", purpose, err)
	}
	s := Sealed{ID: c.ID, Expires: time.Unix(c.Expires, 0)}
	if !now.Before(s.Expires) {
		return Sealed{}, ErrExpired
	}
	return s, nil
}

func (k Key) sign(purpose, text string) []byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
