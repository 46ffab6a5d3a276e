// Package passkey implements the sign-in by passkeys (Web Authentication). A passkey is a key
// that a device or password manager keeps for one host and uses after its owner has unlocked
// it. It replaces both the password and the second factor.
//
// Between a challenge and the browser's response the caller keeps the Ceremony. It must be
// protected from changes and used only once.
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

// ErrRefused means that a response does not match its challenge, or that its passkey is not
// known.
var ErrRefused = errors.New("the passkey was refused")

// Ceremony is the state of a registration or sign-in, from the challenge to the response.
type Ceremony = webauthn.SessionData

// Credential is a stored passkey.
type Credential struct {
	ID   []byte
	JSON []byte // public key, signature counter and further attributes
}

// User is a user of the account store with the user's passkeys.
type User struct {
	Handle      []byte // random id that passkeys contain in place of the name
	Name        string
	Credentials []Credential
}

// Keys registers passkeys for one host and verifies them.
type Keys struct{ web *webauthn.WebAuthn }

// New returns the Keys for the public URL of a service. Browsers support passkeys only at
// localhost and at https URLs with a host name. For other URLs New returns an error that says
// so.
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
		return nil, fmt.Errorf("configure passkeys for %s: %w", service, err)
	}
	return &Keys{web}, nil
}

// BeginRegistration starts the registration of a passkey. The page passes options to
// navigator.credentials.create in the browser.
func (k *Keys) BeginRegistration(u User) (options any, c *Ceremony, err error) {
	user, err := u.decode()
	if err != nil {
		return nil, nil, err
	}
	creation, c, err := k.web.BeginRegistration(user, webauthn.WithExclusions(webauthn.Credentials(user.credentials).CredentialDescriptors()))
	if err != nil {
		return nil, nil, fmt.Errorf("begin the registration of a passkey: %w", err)
	}
	return creation.Response, c, nil
}

// FinishRegistration checks the browser's response and returns the new passkey.
func (k *Keys) FinishRegistration(u User, c Ceremony, response []byte) (Credential, error) {
	user, err := u.decode()
	if err != nil {
		return Credential{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Credential{}, refused(err)
	}
	created, err := k.web.CreateCredential(user, c, parsed)
	if err != nil {
		return Credential{}, refused(err)
	}
	return encode(created)
}

// BeginLogin starts a sign-in with any passkey for this host. The page passes options to
// navigator.credentials.get in the browser.
func (k *Keys) BeginLogin() (options any, c *Ceremony, err error) {
	assertion, c, err := k.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, nil, fmt.Errorf("begin a sign-in by passkey: %w", err)
	}
	return assertion.Response, c, nil
}

// FinishLogin checks the browser's response and returns the passkey that signed it. The caller
// must store the returned passkey, because it has a new signature counter. find returns the
// user with a handle.
func (k *Keys) FinishLogin(c Ceremony, response []byte, find func(handle []byte) (User, error)) (Credential, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return Credential{}, refused(err)
	}
	var findErr error
	_, used, err := k.web.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		u, err := find(handle)
		if err != nil {
			findErr = err
			return nil, err
		}
		return u.decode()
	}, c, parsed)
	switch {
	case findErr != nil:
		return Credential{}, findErr
	case err != nil:
		return Credential{}, refused(err)
	case used.Authenticator.CloneWarning:
		return Credential{}, refused(errors.New("the signature counter decreased, so the passkey may be a copy"))
	}
	return encode(used)
}

func refused(err error) error {
	var detail *protocol.Error
	if errors.As(err, &detail) && detail.DevInfo != "" {
		return fmt.Errorf("%w: %s: %s", ErrRefused, detail.Details, detail.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

func encode(c *webauthn.Credential) (Credential, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return Credential{}, fmt.Errorf("encode a passkey: %w", err)
	}
	return Credential{ID: c.ID, JSON: text}, nil
}

// decodedUser implements the interface webauthn.User.
type decodedUser struct {
	User
	credentials []webauthn.Credential
}

func (u User) decode() (decodedUser, error) {
	d := decodedUser{User: u}
	for _, c := range u.Credentials {
		var decoded webauthn.Credential
		if err := json.Unmarshal(c.JSON, &decoded); err != nil {
			return d, fmt.Errorf("decode a passkey of user %q: %w", u.Name, err)
		}
		d.credentials = append(d.credentials, decoded)
	}
	return d, nil
}

func (d decodedUser) WebAuthnID() []byte                         { return d.Handle }
func (d decodedUser) WebAuthnName() string                       { return d.Name }
func (d decodedUser) WebAuthnDisplayName() string                { return d.Name }
func (d decodedUser) WebAuthnCredentials() []webauthn.Credential { return d.credentials }
