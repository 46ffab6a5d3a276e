// Package otp implements the codes of the second factor: time-based one-time passwords (RFC
// 6238) of six digits from an authenticator app, and recovery codes for users who lost it.
//
// It may import the libraries for one-time codes and QR codes, and the standard library.
package otp

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"image/color"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

const (
	period = 30 // seconds in a time step; many authenticator apps support no other value
	digits = 6
	// skew is the number of time steps before and after the current one whose codes are
	// accepted, because clocks differ.
	skew = 1
)

// Secret is the secret from which one-time codes are computed, as text and as the URL in a QR
// code.
type Secret struct{ Text, URL string }

// New returns a new secret. Authenticator apps show the names of the issuer and the account.
func New(issuer, account string) (Secret, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: account, SecretSize: 20})
	if err != nil {
		return Secret{}, fmt.Errorf("create a secret for one-time codes: %w", err)
	}
	return Secret{key.Secret(), key.URL()}, nil
}

// Step returns the time step that a one-time code belongs to. ok is false if the code is
// wrong, or if its time step is too far from now.
func Step(secret, code string, now time.Time) (step int64, ok bool) {
	code = plain(code)
	if len(code) != digits {
		return 0, false
	}
	current := now.Unix() / period
	for s := current - skew; s <= current+skew; s++ {
		want, err := hotp.GenerateCode(secret, uint64(s))
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

const (
	recoveryCodes = 10
	recoveryChars = 16 // characters of base32 in a code: 80 random bits
)

// NewRecoveryCodes returns random recovery codes. Each can be used one time.
func NewRecoveryCodes() []string {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		text := strings.ToLower(rand.Text()[:recoveryChars])
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
	}
	return codes
}

// PlainRecovery returns a recovery code as stored, given the code as the user typed it. It
// returns "" if the text is not a recovery code.
func PlainRecovery(code string) string {
	if code = plain(code); len(code) != recoveryChars {
		return ""
	}
	return code
}

// plain removes separators from a code and converts it to lower case.
func plain(code string) string {
	if len(code) > 100 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '\u00a0' {
			return -1
		}
		return r
	}, strings.ToLower(code))
}

// QR is a QR code as the path of an SVG image. The image is a square of Size units, including
// the margin.
type QR struct {
	Path string
	Size int
}

// margin is the width of the light border of a QR code, in units.
const margin = 4

// Draw returns a QR code for a text.
func Draw(text string) (QR, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return QR{}, fmt.Errorf("draw a QR code: %w", err)
	}
	var path strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if code.At(x, y) == color.Black {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+margin, y+margin)
			}
		}
	}
	return QR{path.String(), size + 2*margin}, nil
}
