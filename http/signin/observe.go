package signin

import (
	"context"
	"net/http"
)

// EventKind names what happened at the sign-in.
type EventKind string

// The kinds of events.
const (
	SignedIn        EventKind = "signed in"        // a browser has a session; Detail says by what
	SignInFailed    EventKind = "sign-in failed"   // a wrong password, code, passkey or link
	SignInRefused   EventKind = "sign-in refused"  // not judged at all: too many tries, or no proof of work
	SignedOut       EventKind = "signed out"       // one browser, or everything (Detail "everywhere")
	ProgramAllowed  EventKind = "program allowed"  // a code or a device's sign-in was given
	ProgramDenied   EventKind = "program denied"   // a user refused a program
	ProgramEnded    EventKind = "program ended"    // a user or a program ended its sign-in
	ProgramMisused  EventKind = "program misused"  // a code or a refresh token came twice
	TokenIssued     EventKind = "token issued"     // by annals token, or to a program for its own token
	TokenCreated    EventKind = "token created"    // of a program; Client is its id
	TokenRevoked    EventKind = "token revoked"    // likewise
	UserCreated     EventKind = "user created"     // Detail "admin" for an administrator
	UserChanged     EventKind = "user changed"     // Detail says what
	PasswordChanged EventKind = "password changed" // by its user or by an operator
	LinkCreated     EventKind = "link created"     // a one-time link for a new password
	FactorAdded     EventKind = "factor added"     // Detail "totp", "recovery codes", or a passkey's name
	FactorRemoved   EventKind = "factor removed"   // likewise
	FactorsReset    EventKind = "factors reset"    // by an operator, all of a user's
	FactorsRequired EventKind = "factors required" // Detail "on" or "off"
	RecoveryUsed    EventKind = "recovery code used"
	KeyAdded        EventKind = "signing key added" // Detail is its id
	KeyDeleted      EventKind = "signing key deleted"
)

// Event is something of the sign-in that an audit keeps. It holds no secret.
type Event struct {
	Kind EventKind
	// User is the account's name. It is "" where no account has the name that
	// was typed: people type their password there by mistake.
	User    string
	Address string // the client's, as throttles count; "" for commands beside a server
	Client  string // id of the program, where one is concerned
	Detail  string
}

// observe reports an event to Observe, if that is set.
func (a *Accounts) observe(ctx context.Context, e Event) {
	if a.Observe != nil {
		a.Observe(ctx, e)
	}
}

// report is observe with the address that a request came from.
func (p *Provider) report(r *http.Request, e Event) {
	e.Address = p.address(r)
	p.accounts.observe(r.Context(), e)
}
