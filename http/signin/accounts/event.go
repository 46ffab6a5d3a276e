package accounts

import (
	"context"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	SignedIn        EventKind = "signed in"        // in a browser; Detail is the method
	SignInFailed    EventKind = "sign-in failed"   // wrong password, code, passkey, link or client secret
	SignInRefused   EventKind = "sign-in refused"  // not checked: too many attempts, or no proof of work
	SignedOut       EventKind = "signed out"       // of one browser, or of everything (Detail "everywhere")
	ProgramAllowed  EventKind = "program allowed"  // a user gave consent to a program or device
	ProgramDenied   EventKind = "program denied"   // a user denied consent
	ProgramEnded    EventKind = "program ended"    // a user or the program ended its grant
	ProgramMisused  EventKind = "program misused"  // a code or a refresh token was used twice
	TokenIssued     EventKind = "token issued"     // by annals token, or in exchange for an API token
	TokenCreated    EventKind = "token created"    // an API token; Client is its id
	TokenRevoked    EventKind = "token revoked"    // an API token; Client is its id
	UserCreated     EventKind = "user created"     // Detail "admin" or "service" if the user is one
	UserChanged     EventKind = "user changed"     // Detail is the change
	PasswordChanged EventKind = "password changed" // by its user or by an operator
	LinkCreated     EventKind = "link created"     // a one-time link for a new password
	FactorAdded     EventKind = "factor added"     // Detail "totp", "recovery codes", or a passkey's name
	FactorRemoved   EventKind = "factor removed"   // Detail "totp" or a passkey's name
	FactorsReset    EventKind = "factors reset"    // an operator removed all factors of a user
	FactorsRequired EventKind = "factors required" // Detail "on" or "off"
	RecoveryUsed    EventKind = "recovery code used"
	KeyAdded        EventKind = "signing key added"   // Detail is the key's id
	KeyDeleted      EventKind = "signing key deleted" // Detail is the key's id
)

// Event is an event of the sign-in for the access log. It contains no secrets.
type Event struct {
	Kind EventKind
	// User is the name of an account. It is "" if the user typed a name that no account has:
	// people sometimes type their password in the field for the name.
	User    string
	Address string // client address as Provider.Address returns it; "" for commands
	Client  string // id of the OAuth client or API token, if one is involved
	Detail  string
}

// Report passes an event to a.Observe, if it is set.
func (a *Store) Report(ctx context.Context, e Event) {
	if a.Observe != nil {
		a.Observe(ctx, e)
	}
}
