// Package sealed signs texts that a client keeps and sends back, such as challenges and
// tickets. The server therefore need not store them. The texts are signed but not encrypted:
// anyone can read them, so they must contain no secrets.
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

// maxText is the maximum length of a text that Open accepts, in bytes.
const maxText = 8 << 10

// ErrExpired is the error of Open if the text has expired.
var ErrExpired = errors.New("the sealed text has expired")

var errForged = errors.New("the sealed text was changed or signed with another key")

// Key signs texts.
type Key [32]byte

// NewKey returns a random key.
func NewKey() (k Key) {
	rand.Read(k[:])
	return k
}

// Sealed is the id and the expiry of a sealed text.
type Sealed struct {
	ID      string // random, different for each text
	Expires time.Time
}

type content struct {
	ID      string          `json:"i"`
	Expires int64           `json:"e"` // seconds since 1970
	Value   json.RawMessage `json:"v"`
}

// Seal encodes value as JSON and signs it. Open accepts the resulting text for the same
// purpose until it expires. The text consists of letters, digits, "-", "_" and ".".
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

// Open checks a text that Seal returned for the same purpose, and decodes its value into
// value.
func (k Key) Open(purpose, text string, value any, now time.Time) (Sealed, error) {
	if len(text) > maxText {
		return Sealed{}, errForged
	}
	encoded, signature, ok := strings.Cut(text, ".")
	signed, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if !ok || err != nil || !hmac.Equal(signed, k.sign(purpose, encoded)) {
		return Sealed{}, errForged
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
