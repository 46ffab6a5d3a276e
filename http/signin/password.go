package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"annals/events/fault"
	"annals/http/signin/queue"
)

// MinPassword is how many characters a password has at least.
const MinPassword = 8

// maxPasswordBytes bounds what is hashed.
const maxPasswordBytes = 1024

// cost is what one hashing takes. The values are those that OWASP's Password
// Storage Cheat Sheet recommends for argon2id: 19 MiB, two passes, one lane.
type cost struct {
	memory uint32 // KiB
	time   uint32
	lanes  uint8
}

var defaultCost = cost{memory: 19 * 1024, time: 2, lanes: 1}

const (
	saltBytes = 16
	hashBytes = 32
)

// hashing bounds how many hashes are computed at once, and with them the
// memory and the time of processors that a burst of sign-ins takes. Half of the
// processors are left to everything else.
var hashing = queue.New(max(1, runtime.GOMAXPROCS(0)/2), turnClasses)

// ValidPassword returns an error that says why a password cannot be one.
func ValidPassword(password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fault.Errorf(fault.Invalid, "a password has at least %d characters, not %d", MinPassword, n)
	case len(password) > maxPasswordBytes:
		return fault.Errorf(fault.Invalid, "a password has up to %d bytes, not %d", maxPasswordBytes, len(password))
	case !utf8.ValidString(password):
		return fault.Errorf(fault.Invalid, "a password is UTF-8 text")
	}
	return nil
}

// hashPassword returns the password's argon2id hash in PHC notation.
func hashPassword(ctx context.Context, password string) (string, error) {
	if err := ValidPassword(password); err != nil {
		return "", err
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	hash, err := derive(ctx, ownTurn, password, salt, defaultCost)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, defaultCost.memory, defaultCost.time, defaultCost.lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(hash)), nil
}

// checkPassword reports whether the password is the one that was hashed. An
// empty hash belongs to nobody: it costs the same work and never matches.
func checkPassword(ctx context.Context, turn queue.Turn, hash, password string) (bool, error) {
	c, salt, want := defaultCost, make([]byte, saltBytes), make([]byte, hashBytes)
	known := hash != ""
	if known {
		var err error
		if c, salt, want, err = parseHash(hash); err != nil {
			return false, err
		}
	}
	tooLong := len(password) > maxPasswordBytes
	if tooLong {
		password = ""
	}
	got, err := derive(ctx, turn, password, salt, c)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && known && !tooLong, nil
}

func derive(ctx context.Context, turn queue.Turn, password string, salt []byte, c cost) ([]byte, error) {
	leave, err := hashing.Enter(ctx, turn)
	if err != nil {
		return nil, fmt.Errorf("hash a password: %w", err)
	}
	defer leave()
	// Keyboards differ in how they compose letters with accents.
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, c.time, c.memory, c.lanes, hashBytes), nil
}

// parseHash reads what hashPassword wrote, whatever the cost was then.
func parseHash(hash string) (c cost, salt, sum []byte, err error) {
	var version int
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return c, nil, nil, fmt.Errorf("a stored password hash is not argon2id in PHC notation")
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return c, nil, nil, fmt.Errorf("a stored password hash has another version than %d", argon2.Version)
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.lanes); err != nil || c.time < 1 || c.lanes < 1 || c.memory > 1<<20 {
		return c, nil, nil, fmt.Errorf("a stored password hash has unusable parameters")
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return c, nil, nil, fmt.Errorf("decode the salt of a stored password hash: %w", err)
	}
	if sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(sum) != hashBytes {
		return c, nil, nil, fmt.Errorf("a stored password hash is damaged")
	}
	return c, salt, sum, nil
}

// randomPassword returns 20 letters and digits: 100 random bits.
func randomPassword() string { return strings.ToLower(rand.Text()[:20]) }
