// Package pow implements the proof of work that a client has to send with a password. Each
// attempt then costs some seconds of CPU time, which makes guessing passwords from many
// addresses expensive without locking the user out.
//
// A challenge is a sealed text, so the server stores nothing. A proof consists of eight
// counters, one for each part, such that
//
//	SHA-256(SHA-256(challenge) || part || counter)
//
// begins with the number of zero bits that the challenge requires. Part and counter are
// big-endian numbers of 32 bits. The time to solve eight small parts varies less than the time
// to solve a single large one.
//
// It may import sealed and the standard library alone.
package pow

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"annals/http/signin/sealed"
)

const (
	// MinBits is the minimum number of zero bits that a challenge requires of each part.
	MinBits = 12
	// maxBits is the maximum number of zero bits. A proof for maxBits takes 2^22 hashes on
	// average, for all parts together: about 4 s in the browser of a phone that computes a
	// million per second.
	maxBits = 19
	// parts is the number of counters in a proof.
	parts = 8
	// lifetime is how long a challenge is valid.
	lifetime = 5 * time.Minute
	// margin is the number of zero bits by which a challenge may be easier than the current
	// difficulty. The difficulty may have risen since the challenge was sent, because others
	// were guessing the same password.
	margin = 3
	// maxProof is the maximum length of a proof in bytes.
	maxProof = 1 << 10
)

const purpose = "challenge"

// The errors of Check.
var (
	ErrInvalid = errors.New("the proof of work is wrong, was made for another name, or is too easy")
	ErrExpired = errors.New("the challenge of the proof of work has expired")
)

// Challenge is a challenge as the client receives it.
type Challenge struct {
	Text  string `json:"challenge"`
	Seed  string `json:"seed"` // SHA-256 of the text, in hexadecimal digits
	Bits  int    `json:"bits"`
	Parts int    `json:"parts"`
}

// content is the sealed content of a challenge.
type content struct {
	Subject string `json:"s"` // digest
	Bits    int    `json:"b"`
}

// New returns a challenge for a subject, such as the name of an account. difficulty is the
// number of zero bits that each part of the proof must have.
func New(key sealed.Key, subject string, difficulty int, now time.Time) (Challenge, error) {
	text, err := key.Seal(purpose, content{digest(subject), difficulty}, now.Add(lifetime))
	if err != nil {
		return Challenge{}, err
	}
	seed := sha256.Sum256([]byte(text))
	return Challenge{text, hex.EncodeToString(seed[:]), difficulty, parts}, nil
}

// Check verifies a proof. The challenge that it solves must be for subject, and at most margin
// bits easier than difficulty. Check returns the id and the expiry of that challenge. The
// caller must accept each id only one time.
func Check(key sealed.Key, proof, subject string, difficulty int, now time.Time) (sealed.Sealed, error) {
	challenge, counters, err := parse(proof)
	if err != nil {
		return sealed.Sealed{}, err
	}
	var c content
	s, err := key.Open(purpose, challenge, &c, now)
	switch {
	case errors.Is(err, sealed.ErrExpired):
		return sealed.Sealed{}, ErrExpired
	case err != nil, c.Subject != digest(subject), c.Bits < difficulty-margin:
		return sealed.Sealed{}, ErrInvalid
	}
	seed := sha256.Sum256([]byte(challenge))
	for part, counter := range counters {
		if zeros(seed, uint32(part), counter) < c.Bits {
			return sealed.Sealed{}, ErrInvalid
		}
	}
	return s, nil
}

// Solve computes the proof for a challenge, like work.js in browsers.
func Solve(c Challenge) string {
	seed := sha256.Sum256([]byte(c.Text))
	counters := make([]string, parts)
	for part := range counters {
		var counter uint32
		for zeros(seed, uint32(part), counter) < c.Bits {
			counter++
		}
		counters[part] = strconv.FormatUint(uint64(counter), 10)
	}
	return c.Text + ":" + strings.Join(counters, ",")
}

// parse splits a proof such as "challenge:0,1,2,3,4,5,6,7" into the challenge and the
// counters.
func parse(proof string) (challenge string, counters [parts]uint32, err error) {
	challenge, list, ok := strings.Cut(proof, ":")
	if len(proof) > maxProof || !ok || strings.Count(list, ",") != parts-1 {
		return "", counters, ErrInvalid
	}
	part := 0
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return "", counters, ErrInvalid
		}
		counters[part] = uint32(n)
		part++
	}
	return challenge, counters, nil
}

// zeros returns the number of leading zero bits, up to 32, of the hash for a part and its
// counter.
func zeros(seed [sha256.Size]byte, part, counter uint32) int {
	var message [sha256.Size + 8]byte
	copy(message[:], seed[:])
	binary.BigEndian.PutUint32(message[sha256.Size:], part)
	binary.BigEndian.PutUint32(message[sha256.Size+4:], counter)
	sum := sha256.Sum256(message[:])
	return bits.LeadingZeros32(binary.BigEndian.Uint32(sum[:]))
}

// digest returns a hash of a subject, so that the challenge for a long subject is not long.
func digest(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return hex.EncodeToString(sum[:16])
}

// Difficulty returns the number of zero bits that each part of a proof must have after a
// number of failed attempts. If there are fewer failures than free, it is 0, and no proof is
// required. It grows with each further failure.
func Difficulty(failures, free int) int {
	if failures < free {
		return 0
	}
	return min(MinBits+failures-free, maxBits)
}
