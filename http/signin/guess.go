package signin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"annals/http/signin/pow"
	"annals/http/signin/queue"
)

// Guessing at passwords is kept slow in three ways. A browser in which the user
// signed in before has tries of its own, with waits after some. Every other try
// counts against its address, with waits after many; and after few failures of the
// account or the address it takes a proof of work. So nobody waits because
// strangers guess at his name from elsewhere: he does some seconds of work, once,
// as they do for every guess.

const (
	// accountFree and addressFree are how many failures need no proof.
	accountFree = 5
	addressFree = 20
	// failuresHalf is how long it takes for half of the failures to be forgotten.
	failuresHalf = 15 * time.Minute
	// crowd is how many passwords wait to be checked when every try of a stranger
	// takes a proof of crowdBits.
	crowd     = 8
	crowdBits = pow.MinBits + 2
)

// The classes of those whose passwords are to be checked; see package queue.
const (
	turnKnown  = iota // known browsers, and commands
	turnProven        // a proof of work came along
	turnStranger
	turnClasses
)

// ownTurn is that of whoever calls by no request.
var ownTurn = queue.Turn{Class: turnKnown}

// difficulty returns what a stranger's try takes after so many failures.
func difficulty(ofAccount, ofAddress int) int {
	bits := max(pow.Difficulty(ofAccount, accountFree), pow.Difficulty(ofAddress, addressFree))
	if hashing.Waiting() >= crowd {
		bits = max(bits, crowdBits)
	}
	return bits
}

// accountKey and addressKey are the keys of failures.
func accountKey(name string) string    { return "account " + name }
func addressKey(address string) string { return "address " + address }

// errProofMissing asks for a proof of work.
var errProofMissing = &problem{
	status: http.StatusTooManyRequests, proof: true,
	text: "Wrong passwords were tried for this name. Before another try, this browser has to do some work, which takes some seconds: type the password again.",
}

// stranger lets a browser that is not known try a password, or says in an error that
// can be shown why not. undo is for a try that was no failure.
func (p *Provider) stranger(r *http.Request, account, proof string) (turn queue.Turn, undo func(), err error) {
	address := p.address(r)
	if wait := p.addresses.take(address); wait > 0 {
		return turn, nil, tooManyTries(wait)
	}
	ofAccount, ofAddress := p.failures.Take(accountKey(account)), p.failures.Take(addressKey(address))
	undo = func() {
		p.addresses.giveBack(address)
		p.failures.GiveBack(accountKey(account))
		p.failures.GiveBack(addressKey(address))
	}
	bits := difficulty(ofAccount, ofAddress)
	if bits == 0 {
		return queue.Turn{Class: turnStranger, Key: address}, undo, nil
	}
	if err := p.checkProof(r.Context(), proof, account, bits); err != nil {
		undo()
		return turn, nil, err
	}
	return queue.Turn{Class: turnProven, Key: address}, undo, nil
}

func (p *Provider) checkProof(ctx context.Context, proof, account string, bits int) error {
	if proof == "" {
		return errProofMissing
	}
	key, err := p.accounts.sealKey(ctx)
	if err != nil {
		return err
	}
	solved, err := pow.Check(key, proof, account, bits, p.now())
	if errors.Is(err, pow.ErrMissing) || errors.Is(err, pow.ErrInvalid) || errors.Is(err, pow.ErrExpired) {
		return errProofMissing
	}
	if err != nil {
		return err
	}
	first, err := p.accounts.spend(ctx, solved)
	if err == nil && !first {
		err = errProofMissing
	}
	return err
}

// proof answers the sign-in page's script, which asks before it sends the form: with
// a challenge, or with an empty object where none is needed. It depends on tries
// alone, not on whether the name is anybody's.
func (p *Provider) proof(w http.ResponseWriter, r *http.Request, _ visitor) error {
	account := accountName(r.PostForm.Get("username"))
	known, err := p.knownBrowser(r, account)
	if err != nil {
		return err
	}
	bits := difficulty(p.failures.Count(accountKey(account)), p.failures.Count(addressKey(p.address(r))))
	var answer any = struct{}{}
	if known == "" && bits > 0 {
		key, err := p.accounts.sealKey(r.Context())
		if err != nil {
			return err
		}
		if answer, err = pow.New(key, account, bits, p.now()); err != nil {
			return err
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// accountName returns the name of an account as it was typed, or "", which is
// nobody's, for one that is too long.
func accountName(typed string) string {
	name := normal(typed)
	if len(name) > maxNameBytes {
		return ""
	}
	return name
}
