// Package passkey has the sign-in by passkeys (Web Authentication): keys that a device or
// password manager keeps for one host and uses after its owner unlocked it. They replace
// password and second factor together.
//
// Between a challenge and its response the caller keeps a Ceremony where nobody can change it,
// and uses it once.
//
// It may import the library for Web Authentication and the standard library.
package passkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// ErrRefused means that a response does not fit its challenge, or that the passkey is unknown.
var ErrRefused = errors.New("the passkey was refused")

// Ceremony is the state of one challenge.
type Ceremony = webauthn.SessionData

// Credential is a passkey as it is stored.
type Credential struct {
	ID   []byte
	JSON []byte // its public key, and what belongs to it
}

// User is a user with passkeys.
type User struct {
	Handle      []byte // random; devices store it
	Name        string
	Credentials []Credential
}

// Keys creates and verifies passkeys of one host.
type Keys struct{ web *webauthn.WebAuthn }

// New returns the passkeys of a service's URL. Browsers support them only at names with https,
// and at localhost; for other URLs it returns an error that says so.
func New(service *url.URL) (*Keys, error) {
	host := service.Hostname()
	if net.ParseIP(host) != nil || service.Scheme != "https" && host != "localhost" {
		return nil, fmt.Errorf("passkeys need an https address with a host name, or localhost; this service is at %s://%s", service.Scheme, service.Host)
	}
	web, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "Annals", RPOrigins: []string{service.Scheme + "://" + service.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare for passkeys: %w", err)
	}
	return &Keys{web}, nil
}

// Create starts the registration of a passkey. The options are for
// navigator.credentials.create.
func (k *Keys) Create(u User) (options any, c *Ceremony, err error) {
	user, err := u.open()
	if err != nil {
		return nil, nil, err
	}
	creation, c, err := k.web.BeginRegistration(user, webauthn.WithExclusions(webauthn.Credentials(user.credentials).CredentialDescriptors()))
	if err != nil {
		return nil, nil, fmt.Errorf("ask for a new passkey: %w", err)
	}
	return creation.Response, c, nil
}

// Created finishes a registration with the browser's response.
func (k *Keys) Created(u User, c Ceremony, answer []byte) (Credential, error) {
	user, err := u.open()
	if err != nil {
		return Credential{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Credential{}, refused(err)
	}
	made, err := k.web.CreateCredential(user, c, parsed)
	if err != nil {
		return Credential{}, refused(err)
	}
	return closed(made)
}

// Ask starts a sign-in by any passkey of this host. The options are for
// navigator.credentials.get.
func (k *Keys) Ask() (options any, c *Ceremony, err error) {
	assertion, c, err := k.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, nil, fmt.Errorf("ask for a passkey: %w", err)
	}
	return assertion.Response, c, nil
}

// Answered finishes a sign-in with the browser's response. It returns the passkey with its
// updated state, to be stored. find returns the user with a handle.
func (k *Keys) Answered(c Ceremony, answer []byte, find func(handle []byte) (User, error)) (Credential, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return Credential{}, refused(err)
	}
	var failed error
	_, used, err := k.web.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		u, err := find(handle)
		if err != nil {
			failed = err
			return nil, err
		}
		return u.open()
	}, c, parsed)
	switch {
	case failed != nil:
		return Credential{}, failed
	case err != nil:
		return Credential{}, refused(err)
	case used.Authenticator.CloneWarning: // its count went back: there are two of it
		return Credential{}, refused(errors.New("the signature counter went back, so the passkey may be a copy"))
	}
	return closed(used)
}

func refused(err error) error {
	var detail *protocol.Error
	if errors.As(err, &detail) && detail.DevInfo != "" {
		return fmt.Errorf("%w: %s: %s", ErrRefused, detail.Details, detail.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

func closed(c *webauthn.Credential) (Credential, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return Credential{}, fmt.Errorf("encode a passkey: %w", err)
	}
	return Credential{ID: c.ID, JSON: text}, nil
}

// opened is a User in the form of the library.
type opened struct {
	User
	credentials []webauthn.Credential
}

func (u User) open() (opened, error) {
	o := opened{User: u}
	for _, c := range u.Credentials {
		var decoded webauthn.Credential
		if err := json.Unmarshal(c.JSON, &decoded); err != nil {
			return o, fmt.Errorf("decode a passkey of user %q: %w", u.Name, err)
		}
		o.credentials = append(o.credentials, decoded)
	}
	return o, nil
}

func (o opened) WebAuthnID() []byte                         { return o.Handle }
func (o opened) WebAuthnName() string                       { return o.Name }
func (o opened) WebAuthnDisplayName() string                { return o.Name }
func (o opened) WebAuthnCredentials() []webauthn.Credential { return o.credentials }
