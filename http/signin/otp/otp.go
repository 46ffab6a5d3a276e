// Package otp is the second factor of codes: time-based one-time passwords
// (RFC 6238) of six digits, from secrets that an app keeps, and recovery codes for
// who has lost that app.
//
// It may import the libraries for codes and for QR codes, and the standard
// library.
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
	period = 30 // seconds of a step, which all apps take
	digits = 6
	// around is how many steps a clock may be off, either way.
	around = 1
)

// Secret is a new secret, as text and as what a QR code says of it.
type Secret struct{ Text, URL string }

// New returns a secret for an account at an issuer, both of which the app shows.
func New(issuer, account string) (Secret, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: account, SecretSize: 20})
	if err != nil {
		return Secret{}, fmt.Errorf("make a secret for one-time codes: %w", err)
	}
	return Secret{key.Secret(), key.URL()}, nil
}

// Step returns the step of time whose code that is, among those around now.
func Step(secret, code string, now time.Time) (step int64, ok bool) {
	code = plain(code)
	if len(code) != digits {
		return 0, false
	}
	current := now.Unix() / period
	for s := current - around; s <= current+around; s++ {
		want, err := hotp.GenerateCode(secret, uint64(s))
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// Recovery codes.
const (
	recoveryCodes = 10
	recoveryChars = 16 // of base32: 80 random bits
)

// NewRecoveryCodes returns codes each of which is good once.
func NewRecoveryCodes() []string {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		text := strings.ToLower(rand.Text()[:recoveryChars])
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
	}
	return codes
}

// PlainRecovery returns a recovery code as it is compared, however it was typed, or
// "" for what is none.
func PlainRecovery(code string) string {
	if code = plain(code); len(code) != recoveryChars {
		return ""
	}
	return code
}

// plain leaves out what people type between groups.
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

// QR is a QR code as a path of SVG in a square of Size units, margin included.
type QR struct {
	Path string
	Size int
}

// margin is how many units stay light around a QR code.
const margin = 4

// Draw returns the QR code of a text.
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
