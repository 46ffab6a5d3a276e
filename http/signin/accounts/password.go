package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"annals/events/fault"
	"annals/http/signin/queue"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

const (
	minPassword      = 8 // characters
	maxPasswordBytes = 1024
)

// Cost is the cost of computing one argon2id hash.
type Cost struct {
	Memory uint32 // KiB
	Time   uint32 // passes
	Lanes  uint8
}

// PasswordCost is the cost of new hashes: the recommendation of OWASP's Password Storage Cheat
// Sheet. Only tests change it.
var PasswordCost = Cost{Memory: 19 * 1024, Time: 2, Lanes: 1}

const (
	saltBytes = 16
	hashBytes = 32
)

// Classes of callers that wait for a password check, for the package queue.
const (
	KnownCaller   = iota // a sign-in in a known browser, or a command
	ProvenCaller         // a sign-in in an unknown browser with a proof of work
	UnknownCaller        // a sign-in in an unknown browser without a proof of work
	callerClasses
)

// CommandCaller is the queue.Caller for commands and for hashing new passwords.
var CommandCaller = queue.Caller{Class: KnownCaller}

// WaitingChecks returns the number of password checks that wait in the queue.
func WaitingChecks() int { return hashing.Waiting() }

// hashing limits how many hashes are computed concurrently to half of the processors.
// Otherwise a burst of sign-ins could use up the memory and CPU time of all other requests.
var hashing = queue.New(max(1, runtime.GOMAXPROCS(0)/2), callerClasses)

// Authenticate returns the account with a name and password. The error is Unauthenticated,
// with the same message and after the same time, whether the name or the password is wrong.
// Otherwise callers could find out which names exist.
func (a *Store) Authenticate(ctx context.Context, name, password string) (Account, error) {
	account, _, err := a.CheckPassword(ctx, CommandCaller, name, password)
	return account, err
}

// CheckPassword is like Authenticate, but the caller determines the place in the queue of
// password checks. It also returns the stored hash of the user's password, even if password is
// wrong.
func (a *Store) CheckPassword(ctx context.Context, caller queue.Caller, name, password string) (account Account, hash string, err error) {
	if hash, err = a.PasswordHash(ctx, name); err != nil {
		return Account{}, "", err
	}
	matches, err := checkPassword(ctx, caller, hash, password)
	if err != nil {
		return Account{}, "", err
	}
	if matches {
		account, err := a.Get(ctx, name)
		if err == nil && !account.Disabled {
			return account, hash, nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return Account{}, "", err
		}
	}
	return Account{}, hash, fault.Errorf(fault.Unauthenticated, "the name or the password is wrong")
}

// PasswordHash returns the password hash of a user, or "" if the user does not exist or is
// disabled.
func (a *Store) PasswordHash(ctx context.Context, name string) (hash string, err error) {
	err = a.db.Row(ctx, `SELECT password FROM users WHERE name = $1 AND NOT deleted AND NOT disabled`, NormalName(name)).Scan(&hash)
	_, err = isFound(err, fmt.Sprintf("read the password of user %q", name))
	return hash, err
}

// ValidPassword returns an Invalid error if a password is too short, too long or not UTF-8.
func ValidPassword(password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < minPassword:
		return fault.Errorf(fault.Invalid, "a password must have at least %d characters, not %d", minPassword, n)
	case len(password) > maxPasswordBytes:
		return fault.Errorf(fault.Invalid, "a password can have up to %d bytes, not %d", maxPasswordBytes, len(password))
	case !utf8.ValidString(password):
		return fault.Errorf(fault.Invalid, "a password must be UTF-8 text")
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
	hash, err := derive(ctx, CommandCaller, password, salt, PasswordCost)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, PasswordCost.Memory, PasswordCost.Time, PasswordCost.Lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(hash)), nil
}

// checkPassword reports whether a password matches a hash. If hash is "", as for an unknown
// user, it returns false, but computes a hash nevertheless so that it takes the same time.
func checkPassword(ctx context.Context, caller queue.Caller, hash, password string) (bool, error) {
	c, salt, want := PasswordCost, make([]byte, saltBytes), make([]byte, hashBytes)
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
	got, err := derive(ctx, caller, password, salt, c)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && known && !tooLong, nil
}

func derive(ctx context.Context, caller queue.Caller, password string, salt []byte, c Cost) ([]byte, error) {
	leave, err := hashing.Enter(ctx, caller)
	if err != nil {
		return nil, fmt.Errorf("hash a password: %w", err)
	}
	defer leave()
	// Normalise to NFC, because keyboards encode the same accented letter differently.
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, c.Time, c.Memory, c.Lanes, hashBytes), nil
}

// parseHash parses a result of hashPassword. Its cost may differ from the current
// PasswordCost.
func parseHash(hash string) (c Cost, salt, sum []byte, err error) {
	var version int
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return c, nil, nil, fmt.Errorf("parse a stored password hash: it is not argon2id in PHC notation")
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return c, nil, nil, fmt.Errorf("parse a stored password hash: its argon2 version is not %d", argon2.Version)
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.Memory, &c.Time, &c.Lanes); err != nil || c.Time < 1 || c.Lanes < 1 || c.Memory > 1<<20 {
		return c, nil, nil, fmt.Errorf("parse a stored password hash: its parameters are invalid")
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return c, nil, nil, fmt.Errorf("decode the salt of a stored password hash: %w", err)
	}
	if sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(sum) != hashBytes {
		return c, nil, nil, fmt.Errorf("decode a stored password hash: it is corrupt")
	}
	return c, salt, sum, nil
}

// randomPassword returns 20 random letters and digits: 100 bits.
func randomPassword() string { return strings.ToLower(rand.Text()[:20]) }
