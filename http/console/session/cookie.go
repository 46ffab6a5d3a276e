package session

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxChunk is the maximum length of the value of one cookie. Browsers keep cookies of up to
	// 4,096 bytes, with name and attributes.
	maxChunk = 3800
	// maxChunks is the maximum number of cookies for one value.
	maxChunks = 4
)

// keys encrypt cookies and compute form tokens.
type keys struct {
	aead cipher.AEAD
	form []byte
}

// keys derives the keys from the secret. The secret is read each time, so that all nodes use a
// new one at once.
func (m *Manager) keys(ctx context.Context) (k keys, err error) {
	secret, err := m.key(ctx)
	if err != nil {
		return k, fmt.Errorf("read the key of the console's cookies: %w", err)
	}
	cookies, err := hkdf.Key(sha256.New, secret[:], nil, "console cookies", 32)
	if err == nil {
		k.form, err = hkdf.Key(sha256.New, secret[:], nil, "console forms", 32)
	}
	var block cipher.Block
	if err == nil {
		block, err = aes.NewCipher(cookies)
	}
	if err == nil {
		k.aead, err = cipher.NewGCMWithRandomNonce(block)
	}
	if err != nil {
		return k, fmt.Errorf("derive the keys of the console's cookies: %w", err)
	}
	return k, nil
}

// seal encodes value as JSON and encrypts it. open accepts the text only for the same purpose.
func (k keys) seal(purpose string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode a cookie: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(k.aead.Seal(nil, nil, text, []byte(purpose))), nil
}

// open decrypts a text of seal into value. It returns false if the text was changed, or was
// made for another purpose or with another key.
func (k keys) open(purpose, text string, value any) bool {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < k.aead.Overhead() {
		return false
	}
	plain, err := k.aead.Open(nil, nil, sealed, []byte(purpose))
	return err == nil && json.Unmarshal(plain, value) == nil
}

// cookies sets and reads values that may be longer than one cookie. The first cookie of a value
// begins with the number of its cookies.
type cookies struct{ secure bool }

// cookie is a value that a browser keeps.
type cookie struct {
	name, value string
	path        string        // "/" if empty
	lasts       time.Duration // until the browser is closed if 0
}

// header returns the cookie as it is sent to the browser. Prefixes of names keep other hosts
// from setting it (draft-ietf-httpbis-rfc6265bis §4.1.3).
func (s cookies) header(c cookie) *http.Cookie {
	h := &http.Cookie{
		Name: s.name(c), Value: c.value, Path: "/", MaxAge: int(c.lasts / time.Second),
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
	if c.path != "" {
		h.Path = c.path
	}
	return h
}

func (s cookies) name(c cookie) string {
	switch {
	case !s.secure:
		return c.name
	case c.path != "":
		return "__Secure-" + c.name
	}
	return "__Host-" + c.name
}

// chunk returns the name of the cookie number i of a value.
func chunk(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "_" + strconv.Itoa(i)
}

// set sends a value to the browser. It returns false, and sends nothing, if the value is too
// long. It removes cookies of a longer value that the browser has sent.
func (s cookies) set(w http.ResponseWriter, r *http.Request, c cookie) bool {
	count := (len(c.value) + 2 + maxChunk - 1) / maxChunk
	if count > maxChunks {
		return false
	}
	rest := strconv.Itoa(count) + "." + c.value
	for i := range count {
		part := c
		part.name = chunk(c.name, i)
		part.value = rest[:min(maxChunk, len(rest))]
		rest = rest[len(part.value):]
		http.SetCookie(w, s.header(part))
	}
	s.removeFrom(w, r, c, count)
	return true
}

// remove removes a value from the browser.
func (s cookies) remove(w http.ResponseWriter, r *http.Request, c cookie) { s.removeFrom(w, r, c, 0) }

func (s cookies) removeFrom(w http.ResponseWriter, r *http.Request, c cookie, first int) {
	for i := first; i < maxChunks; i++ {
		part := cookie{name: chunk(c.name, i), path: c.path}
		h := s.header(part)
		if _, err := r.Cookie(h.Name); err == nil {
			h.MaxAge = -1
			http.SetCookie(w, h)
		}
	}
}

// get returns a value that set has sent, for a cookie with the path "/".
func (s cookies) get(r *http.Request, name string) (value string, found bool) {
	return s.getAt(r, cookie{name: name})
}

func (s cookies) getAt(r *http.Request, c cookie) (value string, found bool) {
	var text strings.Builder
	count := 1
	for i := 0; i < count; i++ {
		part, err := r.Cookie(s.name(cookie{name: chunk(c.name, i), path: c.path}))
		if err != nil || len(part.Value) > maxChunk {
			return "", false
		}
		rest := part.Value
		if i == 0 {
			number, first, ok := strings.Cut(rest, ".")
			if count, err = strconv.Atoi(number); !ok || err != nil || count < 1 || count > maxChunks {
				return "", false
			}
			rest = first
		}
		text.WriteString(rest)
	}
	return text.String(), true
}
