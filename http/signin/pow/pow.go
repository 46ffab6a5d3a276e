// Package pow demands a proof of work before an attempt at a password is checked. Each attempt
// costs some seconds of CPU, which makes guessing from many addresses expensive without
// locking anyone out.
//
// A challenge is a sealed text, so nothing is stored. Its proof names, for each of Parts
// parts, a counter such that
//
//	SHA-256(SHA-256(challenge) || part || counter)
//
// begins with so many zero bits. Part and counter are big-endian numbers of 32 bits. Several
// small parts take about the same time at each attempt, while the time of a single large one
// would vary widely.
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
	// Parts is the number of counters in a proof.
	Parts = 8
	// MinBits and MaxBits bound the zero bits of each part. A proof of MaxBits takes 2^22
	// hashes on average: about 4 s in a phone's browser that computes a million per second.
	MinBits = 12
	MaxBits = 19 // see MinBits
	// Lifetime is how long a challenge may be answered.
	Lifetime = 5 * time.Minute
	// margin is by how many bits a challenge may be easier than what is demanded when its
	// proof arrives, since others may have guessed meanwhile.
	margin = 3
	// maxProof bounds what Check reads, in bytes.
	maxProof = 1 << 10
)

const purpose = "challenge"

// The errors of Check.
var (
	ErrInvalid = errors.New("the proof of work is wrong, for another name, or too easy")
	ErrExpired = errors.New("the proof of work took too long")
)

// Challenge is what a client has to solve.
type Challenge struct {
	Text  string `json:"challenge"`
	Seed  string `json:"seed"` // SHA-256 of the text, in hexadecimal digits
	Bits  int    `json:"bits"`
	Parts int    `json:"parts"`
}

// task is what a challenge is bound to.
type task struct {
	Subject string `json:"s"` // digest
	Bits    int    `json:"b"`
}

// New returns a challenge for a subject, such as the name of an account.
func New(key sealed.Key, subject string, difficulty int, now time.Time) (Challenge, error) {
	text, err := key.Seal(purpose, task{digest(subject), difficulty}, now.Add(Lifetime))
	if err != nil {
		return Challenge{}, err
	}
	seed := sha256.Sum256([]byte(text))
	return Challenge{text, hex.EncodeToString(seed[:]), difficulty, Parts}, nil
}

// Check returns the id and expiry of the challenge that a proof solves, if it is for the
// subject and of at least about the given difficulty. The caller accepts each id once.
func Check(key sealed.Key, proof, subject string, difficulty int, now time.Time) (sealed.Sealed, error) {
	challenge, counters, err := parse(proof)
	if err != nil {
		return sealed.Sealed{}, err
	}
	var t task
	s, err := key.Open(purpose, challenge, &t, now)
	switch {
	case errors.Is(err, sealed.ErrExpired):
		return sealed.Sealed{}, ErrExpired
	case err != nil, t.Subject != digest(subject), t.Bits < difficulty-margin:
		return sealed.Sealed{}, ErrInvalid
	}
	seed := sha256.Sum256([]byte(challenge))
	for part, counter := range counters {
		if zeros(seed, uint32(part), counter) < t.Bits {
			return sealed.Sealed{}, ErrInvalid
		}
	}
	return s, nil
}

// Solve returns a proof, as work.js does.
func Solve(c Challenge) string {
	seed := sha256.Sum256([]byte(c.Text))
	counters := make([]string, Parts)
	for part := range counters {
		var counter uint32
		for zeros(seed, uint32(part), counter) < c.Bits {
			counter++
		}
		counters[part] = strconv.FormatUint(uint64(counter), 10)
	}
	return c.Text + ":" + strings.Join(counters, ",")
}

// parse reads "challenge:0,1,2,3,4,5,6,7".
func parse(proof string) (challenge string, counters [Parts]uint32, err error) {
	challenge, list, ok := strings.Cut(proof, ":")
	if len(proof) > maxProof || !ok || strings.Count(list, ",") != Parts-1 {
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

// zeros returns how many zero bits the hash of a counter begins with, up to 32.
func zeros(seed [sha256.Size]byte, part, counter uint32) int {
	var message [sha256.Size + 8]byte
	copy(message[:], seed[:])
	binary.BigEndian.PutUint32(message[sha256.Size:], part)
	binary.BigEndian.PutUint32(message[sha256.Size+4:], counter)
	sum := sha256.Sum256(message[:])
	return bits.LeadingZeros32(binary.BigEndian.Uint32(sum[:]))
}

// digest keeps a challenge short, whatever subject a client makes up.
func digest(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return hex.EncodeToString(sum[:16])
}

// Difficulty returns the bits that are demanded after so many failures, the first of which are
// free; 0 for no proof.
func Difficulty(failures, free int) int {
	if failures < free {
		return 0
	}
	return min(MinBits+failures-free, MaxBits)
}
