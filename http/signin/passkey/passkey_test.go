package passkey

import (
	"encoding/json"
	"errors"
	"net/url"
	"testing"

	"annals/http/signin/passkey/passkeytest"

	"github.com/descope/virtualwebauthn"
)

func keysAt(t *testing.T, address string) (*Keys, error) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return New(u)
}

func options(t *testing.T, o any, err error) string {
	t.Helper()
	text, errJSON := json.Marshal(o)
	if err != nil || errJSON != nil {
		t.Fatal(err, errJSON)
	}
	return string(text)
}

func TestNewRejectsUnsupportedURLs(t *testing.T) {
	for address, want := range map[string]bool{
		"https://annals.example.org/signin": true, "http://localhost:8080/signin": true, "http://127.0.0.1:8080/signin": false,
		"http://annals.example.org/signin": false, "https://[::1]/signin": false,
	} {
		if _, err := keysAt(t, address); (err == nil) != want {
			t.Errorf("New(%s) = %v, want success: %v", address, err, want)
		}
	}
}

func TestSignIn(t *testing.T) {
	k, err := keysAt(t, "https://annals.example.org/signin")
	if err != nil {
		t.Fatal(err)
	}
	rp := virtualwebauthn.RelyingParty{Name: "Annals", ID: "annals.example.org", Origin: "https://annals.example.org"}
	device := virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte("handle")})
	credential := passkeytest.NewCredential(t)
	alice := User{Handle: []byte("handle"), Name: "alice"}

	raw, ceremony, err := k.BeginRegistration(alice)
	create, err := virtualwebauthn.ParseAttestationOptions(options(t, raw, err))
	if err != nil {
		t.Fatal(err)
	}
	response := virtualwebauthn.CreateAttestationResponse(rp, device, credential, *create)
	created, err := k.FinishRegistration(alice, *ceremony, []byte(response))
	if err != nil || string(created.ID) != string(credential.ID) {
		t.Fatalf("FinishRegistration = %+v, %v; want the passkey %x", created, err, credential.ID)
	}
	if _, err := k.FinishRegistration(User{Handle: []byte("another")}, *ceremony, []byte(response)); !errors.Is(err, ErrRefused) {
		t.Errorf("FinishRegistration for another user: %v, want ErrRefused", err)
	}
	alice.Credentials = []Credential{created}
	device.AddCredential(credential)

	// signIn signs in with a passkey of device. If stored is not nil, it is passed to
	// FinishLogin in place of the ceremony of the new challenge.
	signIn := func(rp virtualwebauthn.RelyingParty, device virtualwebauthn.Authenticator, stored *Ceremony, find func([]byte) (User, error)) error {
		raw, ceremony, err := k.BeginLogin()
		get, err := virtualwebauthn.ParseAssertionOptions(options(t, raw, err))
		if err != nil {
			t.Fatal(err)
		}
		if stored == nil {
			stored = ceremony
		}
		used, err := k.FinishLogin(*stored, []byte(virtualwebauthn.CreateAssertionResponse(rp, device, credential, *get)), find)
		if err == nil && string(used.ID) != string(credential.ID) {
			t.Errorf("FinishLogin returns the passkey %x, want %x", used.ID, credential.ID)
		}
		return err
	}
	find := func(handle []byte) (User, error) {
		if string(handle) != "handle" {
			return User{}, ErrRefused
		}
		return alice, nil
	}
	if err := signIn(rp, device, nil, find); err != nil {
		t.Errorf("FinishLogin: %v", err)
	}
	evil := rp
	evil.Origin = "https://evil.example"
	locked := device
	locked.Options.UserNotVerified = true
	failure := errors.New("the store failed")
	for name, err := range map[string]error{
		"at another site":              signIn(evil, device, nil, find),
		"without unlocking the device": signIn(rp, locked, nil, find),
		"with another ceremony":        signIn(rp, device, ceremony, find),
		"of a user without the passkey": signIn(rp, device, nil, func([]byte) (User, error) {
			return User{Handle: []byte("handle"), Name: "alice"}, nil
		}),
	} {
		if !errors.Is(err, ErrRefused) {
			t.Errorf("FinishLogin %s: %v, want ErrRefused", name, err)
		}
	}
	if err := signIn(rp, device, nil, func([]byte) (User, error) { return User{}, failure }); !errors.Is(err, failure) {
		t.Errorf("FinishLogin if find fails: %v, want its error", err)
	}
}

func FuzzResponses(f *testing.F) {
	k, err := New(&url.URL{Scheme: "https", Host: "annals.example.org"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AA","userHandle":"AA"}}`))
	f.Add([]byte(`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA"}}`))
	f.Fuzz(func(t *testing.T, response []byte) {
		_, c, err := k.BeginLogin()
		if err != nil {
			t.Fatal(err)
		}
		user := User{Handle: []byte("AA"), Name: "alice"}
		if _, err := k.FinishLogin(*c, response, func([]byte) (User, error) { return user, nil }); err == nil {
			t.Error("FinishLogin accepts a response for a user without passkeys")
		}
		if _, err := k.FinishRegistration(user, *c, response); err == nil {
			t.Error("FinishRegistration accepts a response to no registration")
		}
	})
}
