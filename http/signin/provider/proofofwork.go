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

// Password guessing is limited in three ways:
//   - The attempts in a known browser of a user are throttled for that browser.
//   - The attempts in unknown browsers are throttled for their address.
//   - After a few failures for an account or an address, each attempt in an unknown browser
//     requires a proof of work.
//
// Failed guesses therefore never lock out the user. In an unknown browser the user has to wait
// some seconds for one proof, while the attacker needs a proof for each guess.

const (
	// freeAccountFailures and freeAddressFailures are the numbers of failed attempts for an
	// account or from an address after which a proof of work is required.
	freeAccountFailures = 5
	freeAddressFailures = 20
	// failuresHalfLife is the time after which the numbers of failed attempts are halved.
	failuresHalfLife = 15 * time.Minute
	// busyQueue is the number of waiting password checks from which on every attempt in an
	// unknown browser needs a proof of work of at least busyBits.
	busyQueue = 8
	busyBits  = pow.MinBits + 2
)

// difficulty returns the number of zero bits that each part of a proof of work must have, or 0
// if no proof is required. The parameters are the numbers of failed attempts.
func difficulty(accountFailures, addressFailures int) int {
	bits := max(pow.Difficulty(accountFailures, freeAccountFailures), pow.Difficulty(addressFailures, freeAddressFailures))
	if accounts.WaitingChecks() >= busyQueue {
		bits = max(bits, busyBits)
	}
	return bits
}

// accountKey and addressKey return the keys by which failed attempts are counted.
func accountKey(name string) string    { return "account " + name }
func addressKey(address string) string { return "address " + address }

// errProofMissing is the error for an attempt without a valid proof of work.
var errProofMissing = &problem{
	status: http.StatusTooManyRequests, proof: true,
	text: "Wrong passwords were tried for this name. Your browser now has to do some work before each attempt, which takes a few seconds. Enter the password again.",
}

// admitUnknown is admit for an attempt in an unknown browser.
func (p *Provider) admitUnknown(r *http.Request, account, proof string) (caller queue.Caller, refund func(), err error) {
	address := p.Address(r)
	if wait := p.addresses.Take(address); wait > 0 {
		return caller, nil, tooManyTries(wait)
	}
	bits := difficulty(p.failures.Take(accountKey(account)), p.failures.Take(addressKey(address)))
	refund = func() {
		p.addresses.Refund(address)
		p.failures.Refund(accountKey(account))
		p.failures.Refund(addressKey(address))
	}
	if bits == 0 {
		return queue.Caller{Class: accounts.UnknownCaller, Key: address}, refund, nil
	}
	if err := p.checkProof(r.Context(), proof, account, bits); err != nil {
		refund()
		return caller, nil, err
	}
	return queue.Caller{Class: accounts.ProvenCaller, Key: address}, refund, nil
}

// checkProof checks a proof of work and marks its challenge as used.
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

// proof replies with the challenge that login.js has to solve before it sends the sign-in
// form, or with an empty object if no proof is required. The reply depends only on earlier
// attempts, so that it does not reveal whether the account exists.
func (p *Provider) proof(w http.ResponseWriter, r *http.Request, _ visitor) error {
	account := accountName(r.PostForm.Get("username"))
	known, err := p.knownBrowser(r, account)
	if err != nil {
		return err
	}
	bits := difficulty(p.failures.Count(accountKey(account)), p.failures.Count(addressKey(p.Address(r))))
	var reply any = struct{}{}
	if known == "" && bits > 0 {
		key, err := p.accounts.SealKey(r.Context())
		if err != nil {
			return err
		}
		if reply, err = pow.New(key, account, bits, p.now()); err != nil {
			return err
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, reply)
	return nil
}

// accountName returns the normal form of a name that a user typed. It returns "" for a name
// that is too long; no account has that name.
func accountName(typed string) string {
	name := accounts.NormalName(typed)
	if len(name) > accounts.MaxNameBytes {
		return ""
	}
	return name
}
