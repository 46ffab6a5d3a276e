package accounts

import (
	"context"
)

// EventKind names what happened.
type EventKind string

// The kinds of events.
const (
	SignedIn        EventKind = "signed in"        // a browser has a session; Detail is the method
	SignInFailed    EventKind = "sign-in failed"   // a wrong password, code, passkey or link
	SignInRefused   EventKind = "sign-in refused"  // not checked: too many attempts, or no proof of work
	SignedOut       EventKind = "signed out"       // one browser, or everything (Detail "everywhere")
	ProgramAllowed  EventKind = "program allowed"  // a code or a device's sign-in was given
	ProgramDenied   EventKind = "program denied"   // a user refused a program
	ProgramEnded    EventKind = "program ended"    // a user or a program ended its sign-in
	ProgramMisused  EventKind = "program misused"  // a code or a refresh token came twice
	TokenIssued     EventKind = "token issued"     // by annals token, or to a program for its own token
	TokenCreated    EventKind = "token created"    // of a program; Client is its id
	TokenRevoked    EventKind = "token revoked"    // likewise
	UserCreated     EventKind = "user created"     // Detail "admin" for an administrator
	UserChanged     EventKind = "user changed"     // Detail is the change
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

// Event is an event of the sign-in for the audit. It holds no secrets.
type Event struct {
	Kind EventKind
	// User is the account's name. It is "" if no account has the name that was typed, since
	// people type their password there by mistake.
	User    string
	Address string // the client's, as throttles count; "" for commands beside a server
	Client  string // id of the program, if one is involved
	Detail  string
}

// Report passes an event to Observe, if that is set.
func (a *Store) Report(ctx context.Context, e Event) {
	if a.Observe != nil {
		a.Observe(ctx, e)
	}
}
