package provider

import (
	"context"
	"errors"
	"net/http"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/pow"
	"annals/http/signin/queue"
)

// Password guessing is limited in three ways. A known browser of the user has attempts of its
// own, with growing waits. Attempts from all other browsers count against their address, with
// waits after many. And after a few failures of the account or the address, each attempt takes
// a proof of work. Guesses from elsewhere therefore never lock a user out: they cost some
// seconds of work once, as each guess costs the attacker.

const (
	// freeAccountFailures and freeAddressFailures are how many failures need no proof.
	freeAccountFailures = 5
	freeAddressFailures = 20
	// failuresHalfLife is how long it takes to forget half of the failures.
	failuresHalfLife = 15 * time.Minute
	// busyQueue is how many waiting password checks make every attempt of an unknown browser
	// take a proof of busyBits.
	busyQueue = 8
	busyBits  = pow.MinBits + 2
)

// difficulty returns the bits of proof that an attempt takes after so many failures.
func difficulty(ofAccount, ofAddress int) int {
	bits := max(pow.Difficulty(ofAccount, freeAccountFailures), pow.Difficulty(ofAddress, freeAddressFailures))
	if accounts.WaitingChecks() >= busyQueue {
		bits = max(bits, busyBits)
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

// admitUnknown decides whether an attempt from an unknown browser is checked. Its errors can
// be shown to the user. The caller calls undo if the attempt was no failure.
func (p *Provider) admitUnknown(r *http.Request, account, proof string) (caller queue.Caller, undo func(), err error) {
	address := p.address(r)
	if wait := p.addresses.Take(address); wait > 0 {
		return caller, nil, tooManyTries(wait)
	}
	ofAccount, ofAddress := p.failures.Take(accountKey(account)), p.failures.Take(addressKey(address))
	undo = func() {
		p.addresses.Refund(address)
		p.failures.Refund(accountKey(account))
		p.failures.Refund(addressKey(address))
	}
	bits := difficulty(ofAccount, ofAddress)
	if bits == 0 {
		return queue.Caller{Class: accounts.UnknownCaller, Key: address}, undo, nil
	}
	if err := p.checkProof(r.Context(), proof, account, bits); err != nil {
		undo()
		return caller, nil, err
	}
	return queue.Caller{Class: accounts.ProvenCaller, Key: address}, undo, nil
}

func (p *Provider) checkProof(ctx context.Context, proof, account string, bits int) error {
	if proof == "" {
		return errProofMissing
	}
	key, err := p.accounts.SealKey(ctx)
	if err != nil {
		return err
	}
	solved, err := pow.Check(key, proof, account, bits, p.now())
	if errors.Is(err, pow.ErrInvalid) || errors.Is(err, pow.ErrExpired) {
		return errProofMissing
	}
	if err != nil {
		return err
	}
	first, err := p.accounts.Spend(ctx, solved)
	if err == nil && !first {
		err = errProofMissing
	}
	return err
}

// proof tells login.js, before it sends the form, which proof is needed: a challenge, or an
// empty object. It depends on earlier attempts alone, not on whether the name exists.
func (p *Provider) proof(w http.ResponseWriter, r *http.Request, _ visitor) error {
	account := accountName(r.PostForm.Get("username"))
	known, err := p.knownBrowser(r, account)
	if err != nil {
		return err
	}
	bits := difficulty(p.failures.Count(accountKey(account)), p.failures.Count(addressKey(p.address(r))))
	var answer any = struct{}{}
	if known == "" && bits > 0 {
		key, err := p.accounts.SealKey(r.Context())
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

// accountName normalises a typed name. A name that is too long becomes "", which no account
// has.
func accountName(typed string) string {
	name := accounts.NormalName(typed)
	if len(name) > accounts.MaxNameBytes {
		return ""
	}
	return name
}
